#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fscrypt.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static int open_unnamed(int base, const char *folder) {
  // The file gets its name through /proc/self/fd.
  if (access("/proc/self/fd", X_OK) != 0) return errno = EOPNOTSUPP, -1;
  return openat(base, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int clinux_open_unnamed(const char *folder) { return open_unnamed(AT_FDCWD, folder); }

int clinux_open_unnamed_at(int folder) { return open_unnamed(folder, "."); }

int clinux_name_file_at(int fd, int folder, const char *name) {
  // Naming by descriptor alone (AT_EMPTY_PATH) needs a capability.
  char self[40];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, self, folder, name, AT_SYMLINK_FOLLOW);
}

int clinux_move_to_new(int folder, const char *from, int new_folder, const char *to) {
  if (renameat2(folder, from, new_folder, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  // A file system without that flag: a hard link is exclusive, too.
  if (linkat(folder, from, new_folder, to, 0) == 0) return unlinkat(folder, from, 0), 0;
  // Without hard links, as on some non-Linux file systems, the only option is to check first.
  if (errno == EEXIST || faccessat(new_folder, to, F_OK, 0) == 0) return errno = EEXIST, -1;
  return renameat(folder, from, new_folder, to);
}

int clinux_rename_to_new_at(int folder, const char *from, const char *to) {
  return clinux_move_to_new(folder, from, folder, to);
}

int clinux_rename_to_new(const char *from, const char *to) { return clinux_rename_to_new_at(AT_FDCWD, from, to); }

int64_t clinux_count_names(int fd, const char *path) {
  struct statx status;
  int flags = AT_STATX_FORCE_SYNC | AT_SYMLINK_NOFOLLOW, folder = AT_FDCWD;
  if (fd >= 0) flags |= AT_EMPTY_PATH, folder = fd, path = "";
  return statx(folder, path, flags, STATX_NLINK, &status) == 0 ? (int64_t)status.stx_nlink : -1;
}

bool clinux_folder_is_locked(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  struct fscrypt_get_policy_ex_arg policy = {.policy_size = sizeof policy.policy};
  struct fscrypt_get_key_status_arg status = {.key_spec.type = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER};
  bool is_locked = false;
  if (ioctl(fd, FS_IOC_GET_ENCRYPTION_POLICY_EX, &policy) == 0 && policy.policy.version == FSCRYPT_POLICY_V2) {
    memcpy(status.key_spec.u.identifier, policy.policy.v2.master_key_identifier, FSCRYPT_KEY_IDENTIFIER_SIZE);
    bool is_known = ioctl(fd, FS_IOC_GET_ENCRYPTION_KEY_STATUS, &status) == 0;
    is_locked = is_known && status.status != FSCRYPT_KEY_STATUS_PRESENT;
  }
  close(fd);
  return is_locked;
}

bool clinux_folder_is_in_memory(const char *folder) {
  struct statfs status;
  return statfs(folder, &status) == 0 && (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

void clinux_copy_attributes(int from, int to) {
  char names[4096], value[4096];
  // An ACL inherited from the folder's default must not grant more than the replaced file did.
  if (fgetxattr(from, "system.posix_acl_access", NULL, 0) < 0) (void)fremovexattr(to, "system.posix_acl_access");
  ssize_t length = flistxattr(from, names, sizeof names);
  for (ssize_t i = 0; i < length; i += (ssize_t)strlen(names + i) + 1) {
    ssize_t size = fgetxattr(from, names + i, value, sizeof value);
    if (size >= 0) (void)fsetxattr(to, names + i, value, (size_t)size, 0);
  }
}

void clinux_start_sync(int fd, int64_t offset, int64_t length) {
  (void)sync_file_range(fd, offset, length, SYNC_FILE_RANGE_WRITE);
}

int clinux_sync_file_system(int fd) {
  struct statfs status;
  if (fstatfs(fd, &status) != 0) return -1;
  // syncfs does not reach the server of such a file system.
  if (status.f_type == FUSE_SUPER_MAGIC || status.f_type == V9FS_MAGIC) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return syncfs(fd);
}

int64_t clinux_seek(int fd, int64_t offset, bool in_data) { return lseek(fd, offset, in_data ? SEEK_DATA : SEEK_HOLE); }
