// See coordination.h.
#define _GNU_SOURCE
#include "include/coordination.h"
#include "robust_mutex.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

_Static_assert(offsetof(struct clinux_shared_info, write_mutex) == 48, "layout of the lock file");
#ifdef __x86_64__
_Static_assert(offsetof(struct clinux_shared_info, entries) == 432, "layout of the lock file");
_Static_assert(sizeof(struct clinux_shared_info) == 448, "layout of the lock file");
#elif defined(__aarch64__)
_Static_assert(offsetof(struct clinux_shared_info, entries) == 456, "layout of the lock file");
_Static_assert(sizeof(struct clinux_shared_info) == 472, "layout of the lock file");
#endif
_Static_assert(sizeof(struct clinux_version_entry) == 40, "layout of the version list");

bool clinux_has_glibc(void) {
#ifdef __GLIBC__
  return true;
#else
  return false;
#endif
}

static pthread_mutex_t *mutex(struct clinux_shared_info *info, enum clinux_shared_mutex which) {
  switch (which) {
    case clinux_write_mutex: return &info->write_mutex;
    case clinux_control_mutex: return &info->control_mutex;
    default: return &info->versions_mutex;
  }
}

int clinux_shared_init(struct clinux_shared_info *info) {
  pthread_mutexattr_t kind;
  int error = pthread_mutexattr_init(&kind);
  if (!error) error = pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  if (!error) error = pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  for (int i = clinux_write_mutex; i <= clinux_versions_mutex && !error; i++) {
    error = pthread_mutex_init(mutex(info, i), &kind);
  }
  pthread_mutexattr_destroy(&kind);
  pthread_condattr_t condition;
  if (!error) error = pthread_condattr_init(&condition);
  if (error) return error;
  error = pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  if (!error) error = pthread_cond_init(&info->new_commit, &condition);
  if (!error) error = pthread_cond_init(&info->pick_next_writer, &condition);
  pthread_condattr_destroy(&condition);
  return error;
}

int clinux_shared_lock(struct clinux_shared_info *info, enum clinux_shared_mutex which, int64_t milliseconds) {
  return robust_lock(mutex(info, which), milliseconds);
}

void clinux_shared_unlock(struct clinux_shared_info *info, enum clinux_shared_mutex which) {
  robust_unlock(mutex(info, which));
}

static pthread_cond_t *condition(struct clinux_shared_info *info, enum clinux_shared_condition which) {
  return which == clinux_new_commit ? &info->new_commit : &info->pick_next_writer;
}

bool clinux_shared_is_awaited(struct clinux_shared_info *info, enum clinux_shared_condition which) {
#ifdef __GLIBC__
  // glibc counts the waiters above three flag bits, and checks that count first itself.
  return __atomic_load_n(&condition(info, which)->__data.__wrefs, __ATOMIC_SEQ_CST) >> 3 != 0;
#else
  return true;
#endif
}

void clinux_shared_broadcast(struct clinux_shared_info *info, enum clinux_shared_condition which) {
  pthread_cond_broadcast(condition(info, which));
}

int clinux_edge_listener(int fd) {
  int listener = epoll_create1(EPOLL_CLOEXEC);
  if (listener < 0) return -1;
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
  if (epoll_ctl(listener, EPOLL_CTL_ADD, fd, &event) != 0) {
    int error = errno;
    close(listener);
    errno = error;
    return -1;
  }
  return listener;
}

int clinux_edge_wait(int listener, int milliseconds) {
  struct epoll_event event;
  int count = epoll_wait(listener, &event, 1, milliseconds);
  return count < 0 && errno == EINTR ? 0 : count;
}

static int claim(int fd, int command, short kind, int64_t position, int64_t count, short *found) {
  struct flock lock = {.l_type = kind, .l_whence = SEEK_SET, .l_start = position, .l_len = count};
  int result;
  do {
    result = fcntl(fd, command, &lock);
  } while (result != 0 && errno == EINTR);
  if (found) *found = lock.l_type;
  return result == 0 ? 0 : errno;
}

int clinux_claim(int fd, int64_t position) { return claim(fd, F_OFD_SETLK, F_RDLCK, position, 1, NULL); }

int clinux_claim_alone(int fd, int64_t position) { return claim(fd, F_OFD_SETLK, F_WRLCK, position, 1, NULL); }

void clinux_disclaim(int fd, int64_t position) { (void)claim(fd, F_OFD_SETLK, F_UNLCK, position, 1, NULL); }

int clinux_is_claimed(int fd, int64_t position, int64_t count) {
  if (count <= 0) return 0;
  short found = F_UNLCK;
  int error = claim(fd, F_OFD_GETLK, F_WRLCK, position, count, &found);
  return error ? -error : found != F_UNLCK;
}

int clinux_reserve_file(int fd, int64_t size) {
  int error = posix_fallocate(fd, 0, size);
  if (error != EINVAL && error != EOPNOTSUPP && error != EPERM) return error;
  return ftruncate(fd, size) == 0 ? 0 : errno;
}
