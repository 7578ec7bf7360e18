// File operations that Swift's Glibc module hides: unnamed files, links to them, renames without replacement, extended
// attributes, syncs that do not wait or that cover a file system, and queries about the kind of a directory.
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// Opens a new, unnamed file in `folder` for reading and writing, with mode 0600. Returns a descriptor, or -1 with
/// errno: EOPNOTSUPP, EISDIR or ENOENT if the file system does not support this.
int clinux_open_unnamed(const char *folder);

/// Like clinux_open_unnamed, but in an open directory.
int clinux_open_unnamed_at(int folder);

/// Gives a file of clinux_open_unnamed a name in an open directory. The name must be new. Returns 0, or -1 with errno.
int clinux_name_file_at(int fd, int folder, const char *name);

/// rename(2), but fails with EEXIST if `to` exists. Returns 0, or -1 with errno.
int clinux_rename_to_new(const char *from, const char *to);

/// Like clinux_rename_to_new, with names in one open directory, or in two.
int clinux_rename_to_new_at(int folder, const char *from, const char *to);
int clinux_move_to_new(int folder, const char *from, int new_folder, const char *to);

/// Returns the current number of names (hard links) of the open file `fd` or, if `fd` is -1, of the file at `path`,
/// without following a symbolic link; -1 with errno on failure. stat(2) may return an outdated number cached by the
/// kernel: on a FUSE file system without its own inode numbers, a file just renamed with link(2) and unlink(2) still
/// has two names.
int64_t clinux_count_names(int fd, const char *path);

/// Copies the extended attributes of one open file to another, including ACLs and security labels, as far as permitted.
/// Removes an ACL that only `to` has.
void clinux_copy_attributes(int from, int to);

/// Returns true if the files of `folder` are encrypted (fscrypt, policy version 2) and the key is not available.
bool clinux_folder_is_locked(const char *folder);

/// Returns true if the content of `folder` is kept in memory only (tmpfs, ramfs).
bool clinux_folder_is_in_memory(const char *folder);

/// Returns the first byte at or after `offset` that is data (`in_data`) or in a hole. The end of the file counts as a
/// hole. On a file system without holes, all bytes are data. Returns -1 with errno on failure: ENXIO if there is none.
int64_t clinux_seek(int fd, int64_t offset, bool in_data);

/// Starts writing `length` bytes of a file to disk, without waiting.
void clinux_start_sync(int fd, int64_t offset, int64_t length);

/// Waits until all data written to the file system of `fd` is on disk. Returns 0, or -1 with errno: EOPNOTSUPP if this
/// requires an fsync(2) of each file.
int clinux_sync_file_system(int fd);
