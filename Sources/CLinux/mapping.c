#define _GNU_SOURCE
#include "mapping.h"

#include "coordination.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { slot_count = 4096 };

struct slot {
  _Atomic(uintptr_t) base;
  _Atomic(size_t) length;
  _Atomic(int) protection;
  _Atomic(bool) cut;
};

static struct slot slots[slot_count];
static pthread_once_t handler_once = PTHREAD_ONCE_INIT;
static struct sigaction previous;
static size_t page_size;

static void pass_on(int signal, siginfo_t *info, void *context) {
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    // Returning repeats the access, which then terminates the process as it would have without this handler.
    sigaction(SIGBUS, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
  } else {
    previous.sa_handler(signal);
  }
}

// Async-signal-safe: atomics and mmap only.
static void on_bus_error(int signal, siginfo_t *info, void *context) {
  uintptr_t address = (uintptr_t)info->si_addr;
  int saved = errno;
  for (size_t i = 0; i < slot_count; i++) {
    uintptr_t base = atomic_load(&slots[i].base);
    if (base == 0 || address < base || address - base >= atomic_load(&slots[i].length)) continue;
    void *page = (void *)(address & ~(uintptr_t)(page_size - 1));
    int protection = atomic_load(&slots[i].protection);
    if (mmap(page, page_size, protection, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) break;
    atomic_store(&slots[i].cut, true);
    errno = saved;
    return;
  }
  pass_on(signal, info, context);
}

static void install_handler(void) {
  page_size = (size_t)sysconf(_SC_PAGESIZE);
  struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous);
}

static struct slot *slot_of(const void *base) {
  for (size_t i = 0; i < slot_count; i++) {
    if (atomic_load(&slots[i].base) == (uintptr_t)base) return &slots[i];
  }
  return NULL;
}

static void *map(int fd, size_t length, int protection) {
  pthread_once(&handler_once, install_handler);
  void *base = mmap(NULL, length, protection, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return NULL;
  for (size_t i = 0; i < slot_count; i++) {
    uintptr_t expected = 0;
    if (!atomic_compare_exchange_strong(&slots[i].base, &expected, (uintptr_t)base)) continue;
    atomic_store(&slots[i].cut, false);
    atomic_store(&slots[i].protection, protection);
    atomic_store(&slots[i].length, length);
    return base;
  }
  munmap(base, length);
  errno = ENOMEM;
  return NULL;
}

void *clinux_map_shared(int fd, size_t length) { return map(fd, length, PROT_READ); }

void *clinux_map_writable(int fd, size_t length) { return map(fd, length, PROT_READ | PROT_WRITE); }

bool clinux_mapping_was_cut(const void *base) {
  struct slot *slot = slot_of(base);
  return slot != NULL && atomic_load(&slot->cut);
}

void clinux_unmap(void *base, size_t length) {
  struct slot *slot = slot_of(base);
  if (slot != NULL) {
    atomic_store(&slot->length, 0);
    atomic_store(&slot->base, 0);
  }
  munmap(base, length);
}

void *clinux_reserve(size_t length) {
  void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return NULL;
  madvise(base, length, MADV_DONTDUMP);
  return base;
}

void clinux_unreserve(void *base, size_t length) { munmap(base, length); }

void clinux_drop_pages(void *base, size_t length) { madvise(base, length, MADV_DONTNEED); }

bool clinux_keep_pages(void *base, size_t length) {
  void *copy = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  memcpy(copy, base, length);
  if (mprotect(copy, length, PROT_READ) == 0 &&
      mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, base) != MAP_FAILED) {
    return true;
  }
  int saved = errno;
  munmap(copy, length);
  errno = saved;
  return false;
}

void *clinux_secret_alloc(size_t length) {
  void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  // Both calls are hardening: without the permission to lock memory, the key is still usable.
  (void)mlock(base, length);
  (void)madvise(base, length, MADV_DONTDUMP);
  return base;
}

void clinux_secret_free(void *base, size_t length) {
  explicit_bzero(base, length);
  munmap(base, length);
}



int clinux_o_noatime(void) { return O_NOATIME; }

int clinux_o_path(void) { return O_PATH; }

void clinux_trim_heap(void) { malloc_trim(0); }

size_t clinux_resident_file_bytes(void) {
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[128];
  ssize_t count = read(fd, text, sizeof text - 1);
  close(fd);
  unsigned long total, resident, shared;
  if (count <= 0) return 0;
  text[count] = 0;
  if (sscanf(text, "%lu %lu %lu", &total, &resident, &shared) != 3) return 0;
  return shared * page_size;
}

const void *clinux_find(const void *bytes, size_t length, const void *part, size_t part_length) {
  return memmem(bytes, length, part, part_length);
}
