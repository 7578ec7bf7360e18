// Loop devices and mounts, which have no face in Swift.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Makes a loop device over the file `path` and writes its name into `name`; a descriptor that keeps it, or -errno. The
/// device goes away when nothing uses it any more.
int disk_attach(const char *path, char *name, size_t capacity);

/// Mounts the file system of a device; 0 or -errno.
int disk_mount(const char *device, const char *directory, const char *type, const char *options);

/// Unmounts, at once or (if it is busy) as soon as possible; 0 or -errno.
int disk_unmount(const char *directory);

/// Shuts a mounted ext4, XFS or btrfs file system down without writing what only memory holds; 0 or -errno.
int disk_shut_down(const char *directory);

/// Makes `target` equal to `source`, holes included; 0 or -errno.
int disk_copy(int source, int target);
