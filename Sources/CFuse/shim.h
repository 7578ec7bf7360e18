// libfuse's low-level interface as Swift imports it. Version 314, because in lower ones fuse_session_loop_mt is a
// macro, which Swift does not see; _FILE_OFFSET_BITS stays undefined so that struct stat and struct statvfs are
// Glibc's.
#pragma once
#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/// Tells the kernel that every cached name of the mount must be looked up again (FUSE_NOTIFY_INC_EPOCH, Linux 6.16 and
/// later; libfuse gained a call for it after the version that is built against). 0, or -EINVAL from older kernels.
static inline int realmfs_notify_epoch(struct fuse_session *session) {
  struct { uint32_t length; int32_t code; uint64_t unique; } message = {16, 8, 0};
  ssize_t written = write(fuse_session_fd(session), &message, sizeof message);
  return written == (ssize_t)sizeof message ? 0 : -errno;
}
