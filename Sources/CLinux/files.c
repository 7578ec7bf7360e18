#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

int clinux_open_unnamed(const char *folder) { return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); }

int clinux_name_file(int fd, const char *path) {
  // Naming by descriptor alone (AT_EMPTY_PATH) needs a capability.
  char self[40];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

int clinux_rename_to_new(const char *from, const char *to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  // A file system without that flag: a hard link is as exclusive.
  if (link(from, to) != 0) return -1;
  unlink(from);
  return 0;
}

void clinux_copy_attributes(int from, int to) {
  char names[4096], value[4096];
  ssize_t length = flistxattr(from, names, sizeof names);
  for (ssize_t i = 0; i < length; i += (ssize_t)strlen(names + i) + 1) {
    ssize_t size = fgetxattr(from, names + i, value, sizeof value);
    if (size >= 0) (void)fsetxattr(to, names + i, value, (size_t)size, 0);
  }
}
