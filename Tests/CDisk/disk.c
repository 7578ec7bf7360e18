// See CDisk.h.
#define _GNU_SOURCE
#include "include/CDisk.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

int disk_attach(const char *path, char *name, size_t capacity) {
  int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) return -errno;
  int file = open(path, O_RDWR | O_CLOEXEC), device = -1, error = file < 0 ? errno : 0;
  // Another process can take the free number.
  for (int attempt = 0; attempt < 64 && device < 0 && !error; attempt++) {
    int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) {
      error = errno;
      break;
    }
    snprintf(name, capacity, "/dev/loop%d", number);
    int fd = open(name, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
      error = errno;
      break;
    }
    struct loop_config config = {.fd = (unsigned)file, .block_size = 512, .info.lo_flags = LO_FLAGS_AUTOCLEAR};
    if (ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
      device = fd;
    } else {
      if (errno != EBUSY) error = errno;
      close(fd);
    }
  }
  if (file >= 0) close(file);
  close(control);
  return device >= 0 ? device : -(error ? error : EBUSY);
}

int disk_mount(const char *device, const char *directory, const char *type, const char *options) {
  return mount(device, directory, type, MS_NOATIME, options) == 0 ? 0 : -errno;
}

int disk_unmount(const char *directory) {
  for (int attempt = 0; attempt < 200; attempt++) {
    if (umount2(directory, 0) == 0) return 0;
    if (errno != EBUSY) return -errno;
    usleep(10000);
  }
  return umount2(directory, MNT_DETACH) == 0 ? -EBUSY : -errno;
}

int disk_shut_down(const char *directory) {
  int fd = open(directory, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  // EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are one request; 2 is "no flush of the log".
  uint32_t flags = 2;
  int result = ioctl(fd, _IOR('X', 125, uint32_t), &flags) == 0 ? 0 : -errno;
  close(fd);
  return result;
}

int disk_copy(int source, int target) {
  struct stat status;
  if (fstat(source, &status) != 0) return -errno;
  if (ftruncate(target, 0) != 0 || ftruncate(target, status.st_size) != 0) return -errno;
  off_t at = 0;
  while (at < status.st_size) {
    off_t start = lseek(source, at, SEEK_DATA);
    if (start < 0) return errno == ENXIO ? 0 : -errno;
    off_t end = lseek(source, start, SEEK_HOLE);
    if (end < 0 || lseek(target, start, SEEK_SET) < 0) return -errno;
    while (start < end) {
      ssize_t count = sendfile(target, source, &start, (size_t)(end - start));
      if (count <= 0) return count < 0 ? -errno : -EIO;
    }
    at = end;
  }
  return 0;
}
