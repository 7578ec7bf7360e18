// The replacements of the C library's calls. See include/schedule.h.
#define _GNU_SOURCE
#include "table.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "system.h"

static const int64_t second = 1000000000;

/// The C library's original function.
#define OWN(name) \
  static __typeof__(&name) own; \
  if (!own) own = (__typeof__(own))dlsym(RTLD_NEXT, #name)

// MARK: system calls by number

static long own_system_call(long number, long a, long b, long c, long d, long e, long f) {
  static long (*own)(long, ...);
  if (!own) own = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return own(number, a, b, c, d, e, f);
}

#define ARGUMENTS(last) \
  va_list list; \
  va_start(list, last); \
  long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long), \
       e = va_arg(list, long), f = va_arg(list, long); \
  va_end(list)

long system_call(long number, ...) {
  ARGUMENTS(number);
  return own_system_call(number, a, b, c, d, e, f);
}

static int64_t nanoseconds(const struct timespec *time) { return (int64_t)time->tv_sec * second + time->tv_nsec; }

/// Swift's locks and those of the lock file wait here.
static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *time) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_LOCK_PI: {
      uint32_t none = 0, self = (uint32_t)own_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
      while (!__atomic_compare_exchange_n(word, &none, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        none = 0;
        poll_until(-1);
      }
      return 0;
    }
    case FUTEX_TRYLOCK_PI: {
      uint32_t none = 0, self = (uint32_t)own_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
      if (__atomic_compare_exchange_n(word, &none, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 0;
      errno = EWOULDBLOCK;
      return -1;
    }
    case FUTEX_UNLOCK_PI: __atomic_store_n(word, 0, __ATOMIC_RELEASE); return 0;
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
        errno = EAGAIN;
        return -1;
      }
      int64_t until = time ? nanoseconds(time) : -1;
      if (time && (operation & FUTEX_CMD_MASK) == FUTEX_WAIT) until += table->now;
      poll_until(until);
      return 0;
    }
    case FUTEX_WAKE: return 0;
    default: errno = ENOSYS; return -1;
  }
}

static long fill(void *buffer, size_t size) {
  for (size_t i = 0; i < size; i++) ((unsigned char *)buffer)[i] = (unsigned char)draw(256);
  return (long)size;
}

long syscall(long number, ...) {
  ARGUMENTS(number);
  if (me && number == SYS_futex) return futex((uint32_t *)a, (int)b, (uint32_t)c, (const struct timespec *)d);
  if (me && number == SYS_getrandom) return fill((void *)a, (size_t)b);
  return own_system_call(number, a, b, c, d, e, f);
}

ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
  if (me) return fill(buffer, size);
  return own_system_call(SYS_getrandom, (long)buffer, (long)size, flags, 0, 0, 0);
}

int getentropy(void *buffer, size_t size) { return getrandom(buffer, size, 0) == (ssize_t)size ? 0 : -1; }

void arc4random_buf(void *buffer, size_t size) { getrandom(buffer, size, 0); }

// MARK: time

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!me) return (int)own_system_call(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
  int64_t now = table->now;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now += 1700000000 * second + table->realtime_shift;
  *time = (struct timespec){.tv_sec = now / second, .tv_nsec = now % second};
  return 0;
}

int usleep(useconds_t microseconds) {
  if (!me) {
    struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000};
    return nanosleep(&time, NULL);
  }
  // A sleep may take longer than requested.
  me->wake = table->now + (int64_t)microseconds * (draw(2) ? 1000 : 1000 + (int64_t)draw(200000));
  me->state = thread_sleeps;
  table->progress++;
  pass();
  return 0;
}

// MARK: threads of one program

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  OWN(pthread_mutex_lock);
  if (!me) return own(mutex);
  int result;
  while ((result = pthread_mutex_trylock(mutex)) == EBUSY) poll_until(-1);
  return result;
}

static int wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t until) {
  me->condition = (uintptr_t)condition;
  me->state = thread_waits;
  me->is_signalled = false;
  me->wake = until;
  pthread_mutex_unlock(mutex);
  table->progress++;
  struct thread *self = me;
  pass();
  self->condition = 0;
  bool is_late = until >= 0 && until <= table->now;
  pthread_mutex_lock(mutex);
  return is_late ? ETIMEDOUT : 0;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
  OWN(pthread_cond_wait);
  return me ? wait(condition, mutex, -1) : own(condition, mutex);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *time) {
  OWN(pthread_cond_timedwait);
  return me ? wait(condition, mutex, nanoseconds(time)) : own(condition, mutex, time);
}

static int wake(pthread_cond_t *condition, bool wakes_all) {
  for (int i = 1; i < most_threads; i++) {
    struct thread *thread = &table->threads[i];
    if (thread->state != thread_waits || thread->program != me->program) continue;
    if (thread->condition != (uintptr_t)condition || thread->is_signalled) continue;
    thread->is_signalled = true;
    if (!wakes_all) break;
  }
  return 0;
}

int pthread_cond_signal(pthread_cond_t *condition) {
  OWN(pthread_cond_signal);
  return me ? wake(condition, false) : own(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
  OWN(pthread_cond_broadcast);
  return me ? wake(condition, true) : own(condition);
}

struct start {
  void *(*body)(void *);
  void *argument;
  struct thread *thread;
};

static void *run(void *argument) {
  struct start start = *(struct start *)argument;
  free(argument);
  become(start.thread);
  void *result = start.body(start.argument);
  leave();
  return result;
}

int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  OWN(pthread_create);
  if (!me) return own(id, attributes, body, argument);
  struct start *start = malloc(sizeof *start);
  if (!start) return EAGAIN;
  *start = (struct start){body, argument, add_thread(me->program, false)};
  if (!start->thread) {
    free(start);
    return EAGAIN;
  }
  struct thread *thread = start->thread;
  int error = own(id, attributes, run, start);
  if (error) {
    thread->state = thread_free;
    free(start);
  }
  return error;
}

// MARK: files

static int failed(int code) {
  table->counts.faults++;
  sim_note(code == EIO ? "fails with EIO" : "fails with ENOSPC");
  errno = code;
  return -1;
}

static int some_error(void) { return draw(2) ? EIO : ENOSPC; }

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
  if (!me) return own_system_call(SYS_pwrite64, fd, (long)bytes, (long)size, offset, 0, 0);
  bool fails = step("pwrite", offset);
  if (fails && draw(2)) return failed(some_error());
  size_t part = fails && size > 1 ? 1 + draw(size - 1) : size;
  // A page of an encrypted file is written entirely or not at all: docs/RELIABILITY.md.
  if (part < size && table->rates.has_pages) {
    off_t end = (offset + (off_t)part) & ~4095;
    part = end > offset ? (size_t)(end - offset) : size;
  }
  if (part < size) {
    // As on a disk that is nearly full.
    size = part;
    table->counts.faults++;
    sim_note("writes a part");
  }
  note_write(fd, offset, (ssize_t)size);
  return own_system_call(SYS_pwrite64, fd, (long)bytes, (long)size, offset, 0, 0);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset) {
  if (me) step("pread", offset);
  return own_system_call(SYS_pread64, fd, (long)bytes, (long)size, offset, 0, 0);
}

static int sync_file(int fd, const char *name, long number) {
  if (!me) return (int)own_system_call(number, fd, 0, 0, 0, 0, 0);
  bool fails = step(name, fd), lies = table->rates.lies && draw(4) == 0;
  if (fails) {
    note_failed_sync(fd);
    if (table->rates.power && draw(4) == 0) table->writes_to_cut = 1 + (int)draw(16);
    return failed(EIO);
  }
  if (has_missed_failure(fd)) return failed(EIO);
  if (!lies) note_sync(fd);
  step("synced", fd);
  return 0;
}

int fdatasync(int fd) { return sync_file(fd, "fdatasync", SYS_fdatasync); }
int fsync(int fd) { return sync_file(fd, "fsync", SYS_fsync); }

int ftruncate(int fd, off_t size) {
  if (me && step("ftruncate", size)) return failed(EIO);
  if (me) note_write(fd, size, -1);
  return (int)own_system_call(SYS_ftruncate, fd, size, 0, 0, 0, 0);
}

int posix_fallocate(int fd, off_t offset, off_t size) {
  OWN(posix_fallocate);
  if (me && step("fallocate", size)) {
    failed(ENOSPC);
    return ENOSPC;
  }
  return own(fd, offset, size);
}

int flock(int fd, int operation) {
  if (me) step("flock", operation);
  return (int)own_system_call(SYS_flock, fd, operation, 0, 0, 0, 0);
}

int rename(const char *from, const char *to) {
  if (me) step("rename", 0);
  return (int)own_system_call(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD, (long)to, 0, 0);
}

int unlink(const char *path) {
  if (me) step("unlink", 0);
  return (int)own_system_call(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

/// Times of files are those of the simulated clock.
static int with_times(int result, struct stat *status) {
  if (result != 0 || !me || (status->st_mode & S_IFMT) != S_IFREG) return result;
  int64_t time = file_of(status->st_ino)->written + 1700000000 * second;
  status->st_mtim = status->st_ctim = (struct timespec){.tv_sec = time / second, .tv_nsec = time % second};
  return 0;
}

int fstat(int fd, struct stat *status) {
  return with_times((int)own_system_call(SYS_fstat, fd, (long)status, 0, 0, 0, 0), status);
}

int stat(const char *path, struct stat *status) {
  if (me) step("stat", 0);
  return with_times((int)own_system_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)status, 0, 0, 0), status);
}

int epoll_wait(int listener, struct epoll_event *events, int count, int milliseconds) {
  OWN(epoll_wait);
  if (!me) return own(listener, events, count, milliseconds);
  int64_t until = milliseconds < 0 ? -1 : table->now + (int64_t)milliseconds * 1000000;
  while (true) {
    step("epoll_wait", milliseconds);
    int found = own(listener, events, count, 0);
    // Some wake-ups are lost.
    if (found != 0 && draw(20) != 0) return found;
    if (until >= 0 && table->now >= until) return 0;
    poll_until(until);
  }
}

// MARK: the lock file

// The linker redirects calls of `clinux_shared_lock` here, and those of `__real_...` to the original.
struct clinux_shared_info;
int __real_clinux_shared_lock(struct clinux_shared_info *info, int which, int64_t milliseconds);
void __real_clinux_shared_unlock(struct clinux_shared_info *info, int which);

int __wrap_clinux_shared_lock(struct clinux_shared_info *info, int which, int64_t milliseconds) {
  if (me) step("lock", which);
  int code = __real_clinux_shared_lock(info, which, milliseconds);
  if (me) step(code == 0 ? "has lock" : "has no lock", which);
  return code;
}

void __wrap_clinux_shared_unlock(struct clinux_shared_info *info, int which) {
  if (me) step("unlock", which);
  __real_clinux_shared_unlock(info, which);
  if (me) step("unlocked", which);
}
