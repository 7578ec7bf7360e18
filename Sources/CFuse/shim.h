// libfuse's low-level interface as Swift imports it. API version 314, because in older ones fuse_session_loop_mt is a
// macro, which Swift does not see; _FILE_OFFSET_BITS stays undefined so that struct stat and struct statvfs are
// Glibc's.
#pragma once
#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/// Tells the kernel that every cached name of the mount must be looked up again (FUSE_NOTIFY_INC_EPOCH, Linux 6.16 and
/// later; libfuse gained a call for it after the version that is built against). 0, or -EINVAL from older kernels.
static inline int realmfs_notify_epoch(struct fuse_session *session) {
  struct { uint32_t length; int32_t code; uint64_t unique; } message = {16, 8, 0};
  ssize_t written = write(fuse_session_fd(session), &message, sizeof message);
  return written == (ssize_t)sizeof message ? 0 : -errno;
}

/// Stores a text of up to REALMFS_STORED_TEXT bytes in the page cache, like `fuse_lowlevel_notify_store`. Header and
/// text are in one page, so the kernel looks it up once instead of three times. Returns 0 or -errno.
#define REALMFS_STORED_TEXT 4056
static inline int realmfs_notify_store(struct fuse_session *session, uint64_t inode, const void *text, uint32_t size) {
  _Alignas(4096) struct {
    uint32_t length; int32_t code; uint64_t unique;
    uint64_t inode, offset; uint32_t size, padding;
    char text[REALMFS_STORED_TEXT];
  } message;
  if (size > sizeof message.text) return -EINVAL;
  message.length = (uint32_t)(sizeof message - sizeof message.text + size);
  message.code = 4, message.unique = 0;
  message.inode = inode, message.offset = 0, message.size = size, message.padding = 0;
  memcpy(message.text, text, size);
  ssize_t written = write(fuse_session_fd(session), &message, message.length);
  return written == (ssize_t)message.length ? 0 : -errno;
}
