// Calls on files that Swift's Glibc module hides: files without a name, links to them, renames that replace nothing,
// extended attributes, syncs that do not wait or take a whole file system, what kind of folder one is in.
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// Opens a new file in `folder` that has no name yet, for reading and writing, with mode 0600. A descriptor, or -1 with
/// errno: EOPNOTSUPP, EISDIR or ENOENT where the file system cannot do that.
int clinux_open_unnamed(const char *folder);

/// The same in an open folder.
int clinux_open_unnamed_at(int folder);

/// Gives a file of clinux_open_unnamed a name in an open folder that must be new. 0, or -1 with errno.
int clinux_name_file_at(int fd, int folder, const char *name);

/// rename(2), but EEXIST where `to` exists. 0, or -1 with errno.
int clinux_rename_to_new(const char *from, const char *to);

/// The same for two names in an open folder, or in two.
int clinux_rename_to_new_at(int folder, const char *from, const char *to);
int clinux_move_to_new(int folder, const char *from, int new_folder, const char *to);

/// How many names (hard links) the open file `fd`, or without one (-1) what is at `path`, has now; of a symbolic link
/// itself. stat(2) may show what the kernel remembers: on a FUSE file system without inode numbers of
/// its own, of a file that was just renamed with link(2) and unlink(2), the two names that it had. -1 with errno.
int64_t clinux_count_names(int fd, const char *path);

/// Copies the extended attributes of one open file to another, ACLs and security labels included, as far as the
/// system allows. An ACL that only `to` has is removed.
void clinux_copy_attributes(int from, int to);

/// Whether the files of `folder` are encrypted (fscrypt, policy version 2) and the key is not there.
bool clinux_folder_is_locked(const char *folder);

/// Whether what is in `folder` is kept in memory alone (tmpfs, ramfs).
bool clinux_folder_is_in_memory(const char *folder);

/// The first byte at or after `offset` that is data (`in_data`), or that lies in a hole; the end of the file is a
/// hole. Data are all bytes of a file system that knows no holes. -1 with errno: ENXIO if there is none.
int64_t clinux_seek(int fd, int64_t offset, bool in_data);

/// Has the disk begin with `length` bytes of a file that were written, and does not wait.
void clinux_start_sync(int fd, int64_t offset, int64_t length);

/// Returns when everything that was written to the file system of `fd` is on disk. 0, or -1 with errno: EOPNOTSUPP
/// where only fsync(2) of each file does that.
int clinux_sync_file_system(int fd);
