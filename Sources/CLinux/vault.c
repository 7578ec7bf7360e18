// See vault.h. Slots of equal size in reserved memory, so that an address shows whether it is in the vault.
#define _GNU_SOURCE
#include "include/vault.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// A slot has room for the largest object that libcrypto allocates for a cipher. Each open version of an encrypted realm
// has four.
enum { slot_size = 1024, slots = 4096, page_size = 4096 };
static char *vault;
static uint64_t taken[slots / 64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int openings;

bool clinux_vault_open(void) {
  pthread_mutex_lock(&mutex);
  if (!vault) {
    size_t length = (size_t)slot_size * slots;
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base != MAP_FAILED) {
      // Hardening: if the system does not support it, the keys are still usable.
      (void)madvise(base, length, MADV_DONTDUMP);
      __atomic_store_n(&vault, base, __ATOMIC_RELEASE);
    }
  }
  bool is_there = vault != NULL;
  pthread_mutex_unlock(&mutex);
  openings += is_there;
  return is_there;
}

void clinux_vault_close(void) { openings--; }

static bool has(const void *start) {
  uintptr_t base = (uintptr_t)__atomic_load_n(&vault, __ATOMIC_ACQUIRE), at = (uintptr_t)start;
  return base && at >= base && at - base < (size_t)slot_size * slots;
}

// Returns a zeroed slot; NULL if all are in use.
static void *take(void) {
  void *found = NULL;
  pthread_mutex_lock(&mutex);
  for (size_t i = 0; i < slots / 64 && !found; i++) {
    if (~taken[i] == 0) continue;
    size_t slot = i * 64 + (size_t)__builtin_ctzll(~taken[i]);
    taken[i] |= 1ULL << slot % 64;
    found = vault + slot * slot_size;
  }
  pthread_mutex_unlock(&mutex);
  // Best effort: the limit on locked memory may be reached.
  if (found) (void)mlock((void *)((uintptr_t)found & ~(uintptr_t)(page_size - 1)), page_size);
  return found;
}

void *clinux_vault_malloc(size_t size, const char *file, int line) {
  (void)file, (void)line;
  return openings > 0 && size > 0 && size <= slot_size ? take() : malloc(size);
}

void clinux_vault_free(void *start, const char *file, int line) {
  (void)file, (void)line;
  if (!has(start)) return free(start);
  size_t slot = (size_t)((char *)start - vault) / slot_size;
  explicit_bzero(start, slot_size);
  pthread_mutex_lock(&mutex);
  taken[slot / 64] &= ~(1ULL << slot % 64);
  pthread_mutex_unlock(&mutex);
}

void *clinux_vault_realloc(void *start, size_t size, const char *file, int line) {
  if (!start) return clinux_vault_malloc(size, file, line);
  if (!has(start)) return realloc(start, size);
  if (size > slot_size) return NULL;
  if (size > 0) return start;
  clinux_vault_free(start, file, line);
  return NULL;
}
