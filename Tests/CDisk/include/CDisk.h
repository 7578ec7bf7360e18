// Loop devices and mounts, for which Swift has no interface.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Creates a loop device over the file `path` and writes its name to `name`. Returns a descriptor that keeps the
/// device, or -errno. The device is removed when it is no longer used.
int disk_attach(const char *path, char *name, size_t capacity);

/// Mounts the file system of a device. Returns 0 or -errno.
int disk_mount(const char *device, const char *directory, const char *type, const char *options);

/// Unmounts at once or, if the file system is busy, as soon as possible. Returns 0 or -errno.
int disk_unmount(const char *directory);

/// Shuts down a mounted ext4, XFS or btrfs file system without writing data that is only in memory. Returns 0 or
/// -errno.
int disk_shut_down(const char *directory);

/// Makes `target` equal to `source`, holes included. Returns 0 or -errno.
int disk_copy(int source, int target);
