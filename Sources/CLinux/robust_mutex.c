// See robust_mutex.h.
//
// When a thread dies, the kernel marks the mutexes that it holds: it follows a list from the thread's own memory
// through the mutexes, and changes only words that contain the thread's id. Each thread has one such list, which
// belongs to glibc and contains nothing else while these functions hold a mutex.
#define _GNU_SOURCE
#include "robust_mutex.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __GLIBC__
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The value of `__owner` with which glibc marks a mutex as unusable: a thread locked it after its holder died, but
// unlocked it without making it consistent.
static const int not_recoverable = INT_MAX - 1;
// `__kind` of a robust mutex that is shared between processes.
static const int robust_and_shared = 16 | 128;

// More than any thread holds at once: three per realm.
enum { most = 24 };
static _Thread_local struct robust_list_head *head;
static _Thread_local pthread_mutex_t *held[most];
static _Thread_local int count;
// The rest of the list, following the first mutex of `held`.
static _Thread_local struct robust_list *rest;

static struct robust_list *entry(pthread_mutex_t *mutex) { return (struct robust_list *)&mutex->__data.__list.__next; }

static int find_list(void) {
  if (head) return 0;
  struct robust_list_head *found = NULL;
  size_t size = 0;
  if (syscall(SYS_get_robust_list, 0, &found, &size) != 0) return errno;
  long offset = (long)offsetof(pthread_mutex_t, __data.__lock) - (long)offsetof(pthread_mutex_t, __data.__list.__next);
  if (!found || size != sizeof *found || found->futex_offset != offset) return ENOSYS;
  head = found;
  return 0;
}

// The kernel reads the list when this thread dies, which may be between any two instructions.
static void in_order(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

static void begin_change(pthread_mutex_t *mutex) {
  head->list_op_pending = entry(mutex);
  in_order();
}

static void end_change(void) {
  in_order();
  head->list_op_pending = NULL;
}

static void add(pthread_mutex_t *mutex) {
  if (count == 0) rest = head->list.next;
  entry(mutex)->next = count ? entry(held[count - 1]) : rest;
  in_order();
  head->list.next = entry(mutex);
  held[count++] = mutex;
}

static bool take_out(pthread_mutex_t *mutex) {
  int i = count - 1;
  while (i >= 0 && held[i] != mutex) i--;
  if (i < 0) return false;
  struct robust_list *next = i ? entry(held[i - 1]) : rest;
  if (i == count - 1) {
    head->list.next = next;
  } else {
    entry(held[i + 1])->next = next;
  }
  count--;
  for (; i < count; i++) held[i] = held[i + 1];
  return true;
}

static void release(pthread_mutex_t *mutex) {
  int *word = &mutex->__data.__lock;
  if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) & (int)FUTEX_WAITERS) {
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
  }
}

static struct timespec after(int64_t milliseconds) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_sec += milliseconds / 1000;
  time.tv_nsec += milliseconds % 1000 * 1000000;
  if (time.tv_nsec >= 1000000000) {
    time.tv_nsec -= 1000000000;
    time.tv_sec++;
  }
  return time;
}

static bool is_past(const struct timespec *until) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

// Stores `self`, the id of this thread, in `word`. Returns 0, EOWNERDEAD or ETIMEDOUT.
static int acquire(int *word, int self, int64_t milliseconds) {
  int waiters = 0, old = 0;
  if (__atomic_compare_exchange_n(word, &old, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 0;
  struct timespec until = after(milliseconds);
  while (true) {
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    bool is_left = old & (int)FUTEX_OWNER_DIED;
    if (old == 0 || is_left) {
      // Other threads may have started to wait since then.
      int new = self | waiters | (old & (int)FUTEX_WAITERS);
      if (__atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return is_left ? EOWNERDEAD : 0;
      }
    } else if (!(old & (int)FUTEX_WAITERS)) {
      if (milliseconds <= 0) return ETIMEDOUT;
      __atomic_compare_exchange_n(word, &old, old | (int)FUTEX_WAITERS, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    } else {
      if (milliseconds <= 0) return ETIMEDOUT;
      waiters = (int)FUTEX_WAITERS;
      syscall(SYS_futex, word, FUTEX_WAIT_BITSET, old, &until, NULL, FUTEX_BITSET_MATCH_ANY);
    }
    // Ends the loop whatever other processes write to the word.
    if (milliseconds > 0 && is_past(&until)) return ETIMEDOUT;
  }
}

int robust_lock(pthread_mutex_t *mutex, int64_t milliseconds) {
  if (__atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED) != robust_and_shared) return EINVAL;
  int error = find_list();
  if (error) return error;
  if (count == most) return EAGAIN;
  begin_change(mutex);
  int self = (int)gettid();
  int result = acquire(&mutex->__data.__lock, self, milliseconds);
  if (result == 0 && mutex->__data.__owner == not_recoverable) {
    release(mutex);
    result = ENOTRECOVERABLE;
  }
  if (result == 0 || result == EOWNERDEAD) {
    add(mutex);
    mutex->__data.__count = 1;
    mutex->__data.__owner = self;
    // A holder that died is still counted.
    if (result == 0) mutex->__data.__nusers++;
  }
  end_change();
  return result;
}

void robust_unlock(pthread_mutex_t *mutex) {
  begin_change(mutex);
  if (take_out(mutex)) {
    mutex->__data.__owner = 0;
    mutex->__data.__nusers--;
    in_order();
    release(mutex);
  }
  end_change();
}

#else

// Programs with another C library do not share realms: clinux_has_glibc.
int robust_lock(pthread_mutex_t *mutex, int64_t milliseconds) {
  (void)mutex, (void)milliseconds;
  return ENOSYS;
}

void robust_unlock(pthread_mutex_t *mutex) { (void)mutex; }

#endif
