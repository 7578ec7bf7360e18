// Programs that share one mutex, some with our robust mutexes, some with glibc's: every pair of them, as threads of one
// program and as processes that are killed. Prints `ok - ...` and `not ok - ...`. Built with
// Sources/CLinux/robust_mutex.c.
#define _GNU_SOURCE
#include "robust_mutex.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct shared {
  pthread_mutex_t mutex, other;
  volatile long count;
  volatile int stage;
} *shared;

typedef int lock_call(pthread_mutex_t *, int64_t);
typedef void unlock_call(pthread_mutex_t *);

static int glibc_lock(pthread_mutex_t *mutex, int64_t milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += milliseconds % 1000 * 1000000;
  until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  int error = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
  if (error == EOWNERDEAD) pthread_mutex_consistent(mutex);
  return error;
}
static void glibc_unlock(pthread_mutex_t *mutex) { pthread_mutex_unlock(mutex); }

static struct kind {
  const char *name;
  lock_call *lock;
  unlock_call *unlock;
} kinds[] = {{"ours", robust_lock, robust_unlock}, {"glibc's", glibc_lock, glibc_unlock}};

static void test(int holds, const char *what, struct kind *a, struct kind *b) {
  printf("%s - %s: %s, %s\n", holds ? "ok" : "not ok", what, a->name, b->name);
  fflush(stdout);
}

static void make(pthread_mutex_t *mutex) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex, &kind);
}

static void start(void) {
  memset(shared, 0, sizeof *shared);
  make(&shared->mutex);
  make(&shared->other);
}

static void reach(int stage) { shared->stage = stage; }
static void wait_for(int stage) {
  while (shared->stage < stage) usleep(200);
}

// A process that runs `body` and is then killed.
#define CHILD(body)              \
  ({                             \
    pid_t child = fork();        \
    if (!child) {                \
      body;                      \
      raise(SIGKILL);            \
    }                            \
    child;                       \
  })
static void end(pid_t child) { waitpid(child, NULL, 0); }

static void *count_up(void *argument) {
  struct kind *kind = argument;
  for (int i = 0; i < 30000; i++) {
    if (kind->lock(&shared->mutex, 20000) != 0) abort();
    shared->count++;
    kind->unlock(&shared->mutex);
  }
  return NULL;
}

static void count_for_ever(struct kind *kind) {
  while (1) {
    int result = kind->lock(&shared->mutex, 20000);
    if (result != 0 && result != EOWNERDEAD) abort();
    shared->count++;
    kind->unlock(&shared->mutex);
  }
}

static void pairs(struct kind *a, struct kind *b) {
  // One holds the mutex; the other waits, and is woken.
  start();
  pid_t child = CHILD({
    a->lock(&shared->mutex, 1000);
    reach(1);
    wait_for(2);
    usleep(100000);
    a->unlock(&shared->mutex);
  });
  wait_for(1);
  int at_once = b->lock(&shared->mutex, 0), soon = b->lock(&shared->mutex, 20);
  reach(2);
  int in_time = b->lock(&shared->mutex, 20000);
  test(at_once == ETIMEDOUT && soon == ETIMEDOUT && in_time == 0, "waits for the holder", a, b);
  b->unlock(&shared->mutex);
  end(child);

  // The holder is killed while the other waits, with another mutex that it took before, and one after.
  start();
  child = CHILD({
    a->lock(&shared->other, 1000);
    a->lock(&shared->mutex, 1000);
    reach(1);
    usleep(50000);
  });
  wait_for(1);
  int first = b->lock(&shared->mutex, 20000), second = b->lock(&shared->other, 20000);
  b->unlock(&shared->mutex);
  b->unlock(&shared->other);
  end(child);
  int again = a->lock(&shared->mutex, 1000);
  if (again == 0) a->unlock(&shared->mutex);
  test(first == EOWNERDEAD && second == EOWNERDEAD && again == 0, "finds a dead holder, and mends", a, b);

  // Released in another order than acquired: only mutexes held at the end are found.
  start();
  child = CHILD({
    a->lock(&shared->other, 1000);
    a->lock(&shared->mutex, 1000);
    a->unlock(&shared->other);
  });
  end(child);
  first = b->lock(&shared->mutex, 1000), second = b->lock(&shared->other, 1000);
  b->unlock(&shared->mutex);
  b->unlock(&shared->other);
  test(first == EOWNERDEAD && second == 0, "what was unlocked out of order is free", a, b);

  // Left inconsistent.
  start();
  end(CHILD(a->lock(&shared->mutex, 1000)));
  end(CHILD({
    pthread_mutex_lock(&shared->mutex);
    pthread_mutex_unlock(&shared->mutex);
  }));
  first = b->lock(&shared->mutex, 1000), second = b->lock(&shared->mutex, 1000);
  test(first == ENOTRECOVERABLE && second == ENOTRECOVERABLE, "what was left unmended stays unusable", a, b);

  // Processes and threads are killed at random moments while they count.
  start();
  pid_t children[4];
  for (int i = 0; i < 4; i++) children[i] = CHILD(count_for_ever(i & 1 ? a : b));
  long lost = 0;
  for (int i = 0; i < 200; i++) {
    usleep(2000);
    int victim = i & 3;
    kill(children[victim], SIGKILL);
    end(children[victim]);
    // A process that died between two instructions leaves the mutex available.
    int found = b->lock(&shared->mutex, 20000);
    if (found == 0 || found == EOWNERDEAD) {
      b->unlock(&shared->mutex);
    } else {
      lost++;
    }
    children[victim] = CHILD(count_for_ever(victim & 1 ? a : b));
  }
  for (int i = 0; i < 4; i++) {
    kill(children[i], SIGKILL);
    end(children[i]);
  }
  test(lost == 0, "is never lost to processes that are killed", a, b);

  start();
  pthread_t threads[6];
  for (int i = 0; i < 6; i++) pthread_create(&threads[i], NULL, count_up, i & 1 ? a : b);
  for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
  test(shared->count == 6 * 30000, "lets one in at a time", a, b);
}

static void rubbish(void) {
  // Random words in the mutex while it is used: a call may fail, but the process continues.
  start();
  pid_t child = CHILD({
    unsigned seed = 1;
    while (1) {
      unsigned char *bytes = (unsigned char *)&shared->mutex;
      bytes[rand_r(&seed) % sizeof shared->mutex] = (unsigned char)rand_r(&seed);
      if (rand_r(&seed) % 16 == 0) shared->mutex.__data.__kind = 16 | 128;
      if (rand_r(&seed) % 16 == 0) shared->mutex.__data.__lock = 0;
    }
  });
  pid_t victim = fork();
  if (!victim) {
    for (int i = 0; i < 200000; i++) {
      int result = robust_lock(&shared->mutex, i % 512 == 0);
      if (result == 0 || result == EOWNERDEAD) robust_unlock(&shared->mutex);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(victim, &status, 0);
  kill(child, SIGKILL);
  end(child);
  printf("%s - rubbish in a mutex harms nothing but the mutex (status %d)\n", status ? "not ok" : "ok", status);
}

int main(void) {
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 2; j++) pairs(&kinds[i], &kinds[j]);
  }
  rubbish();
}
