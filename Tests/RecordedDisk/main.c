// A recording disk: a FUSE file system with the file `disk`, on which a loop device is based. It logs each write and
// each flush that reaches the disk, in order, and each text that is written to the file `marks`. PowerCut reads the log
// and constructs the disks that a power cut could have left.
//
//     RecordedDisk IMAGE LOG MOUNTPOINT        serves IMAGE until it is unmounted
//
// A record of the log is { kind: u32, length: u32, offset: u64 } and `length` bytes, in the byte order of the machine.
// One thread serves all requests, so the order of the log is the order in which requests ended.
#define FUSE_USE_VERSION 314
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { written = 1, flushed = 2, marked = 3 };

struct record {
  uint32_t kind;
  uint32_t length;
  uint64_t offset;
};

static int image, records;

static bool is_disk(const char *path) { return strcmp(path, "/disk") == 0; }
static bool is_marks(const char *path) { return strcmp(path, "/marks") == 0; }

static int append(enum kind kind, const char *bytes, size_t length, off_t offset) {
  struct record record = {.kind = kind, .length = (uint32_t)length, .offset = (uint64_t)offset};
  if (write(records, &record, sizeof record) != sizeof record) return -EIO;
  return length == 0 || write(records, bytes, length) == (ssize_t)length ? 0 : -EIO;
}

static int disk_getattr(const char *path, struct stat *status, struct fuse_file_info *info) {
  (void)info;
  memset(status, 0, sizeof *status);
  if (strcmp(path, "/") == 0) {
    status->st_mode = S_IFDIR | 0700;
    status->st_nlink = 2;
    return 0;
  }
  if (!is_disk(path) && !is_marks(path)) return -ENOENT;
  struct stat found;
  if (fstat(image, &found) != 0) return -errno;
  status->st_mode = S_IFREG | 0600;
  status->st_nlink = 1;
  status->st_size = is_disk(path) ? found.st_size : 0;
  return 0;
}

static int disk_open(const char *path, struct fuse_file_info *info) {
  info->direct_io = is_marks(path);
  return 0;
}

static int disk_truncate(const char *path, off_t size, struct fuse_file_info *info) {
  (void)size, (void)info;
  return is_marks(path) ? 0 : -EPERM;
}

static int disk_read(const char *path, char *bytes, size_t length, off_t offset, struct fuse_file_info *info) {
  (void)info;
  if (is_marks(path)) return 0;
  ssize_t count = pread(image, bytes, length, offset);
  return count < 0 ? -errno : (int)count;
}

static int disk_write(const char *path, const char *bytes, size_t length, off_t offset, struct fuse_file_info *info) {
  (void)info;
  if (!is_marks(path) && pwrite(image, bytes, length, offset) != (ssize_t)length) return -EIO;
  int error = append(is_marks(path) ? marked : written, bytes, length, is_marks(path) ? 0 : offset);
  return error ? error : (int)length;
}

static int disk_fsync(const char *path, int only_data, struct fuse_file_info *info) {
  (void)only_data, (void)info;
  return is_disk(path) ? append(flushed, NULL, 0, 0) : 0;
}

int main(int count, char **words) {
  if (count != 4) {
    fprintf(stderr, "usage: RecordedDisk IMAGE LOG MOUNTPOINT\n");
    return 2;
  }
  image = open(words[1], O_RDWR | O_CLOEXEC);
  records = open(words[2], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (image < 0 || records < 0) {
    perror("RecordedDisk");
    return 1;
  }
  static const struct fuse_operations operations = {
    .getattr = disk_getattr,
    .open = disk_open,
    .truncate = disk_truncate,
    .read = disk_read,
    .write = disk_write,
    .fsync = disk_fsync,
  };
  char *arguments[] = {words[0], "-f", "-s", words[3], NULL};
  return fuse_main(4, arguments, &operations, NULL);
}
