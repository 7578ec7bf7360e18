// The memory that all programs share that have a realm open, and what Swift cannot do on it: robust mutexes at an
// address of our choice, atomic access to single fields, a pipe that is listened to by its edges. Other users may write
// to this memory, so no pointer in it is followed, and no number believed.
// Layout: docs/format/5-coordination.md 5.2.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The beginning of a lock file; the version list follows it.
struct clinux_shared_info {
  uint8_t init_complete;
  uint8_t mutex_size;
  uint8_t condition_size;
  uint8_t in_critical_phase;
  uint8_t file_format;
  int8_t history_type;
  uint16_t layout;
  uint16_t durability;
  uint16_t free_write_slots;
  uint32_t participants;
  uint64_t latest_version;
  uint64_t initiator_pid;
  uint64_t version_count;
  uint8_t sync_agent_present;
  uint8_t daemon_started;
  uint8_t daemon_ready;
  uint8_t filler_1;
  uint16_t history_schema;
  uint16_t filler_2;
  pthread_mutex_t write_mutex;
  pthread_mutex_t control_mutex;
  pthread_mutex_t versions_mutex;
  pthread_cond_t room_to_write;
  pthread_cond_t work_to_do;
  pthread_cond_t daemon_becomes_ready;
  pthread_cond_t new_commit;
  pthread_cond_t pick_next_writer;
  uint32_t next_ticket;
  uint32_t next_served;
  uint64_t writing_page_offset;
  uint64_t write_counter;
  uint32_t entries;
  uint32_t allocating;
  uint32_t newest;
};

/// One entry of the version list.
struct clinux_version_entry {
  uint64_t version;
  uint64_t logical_size;
  uint64_t top_ref;
  uint32_t live;
  uint32_t frozen;
  uint32_t full;
};

/// The mutexes of a lock file, in the order in which they are taken.
enum clinux_shared_mutex { clinux_write_mutex, clinux_control_mutex, clinux_versions_mutex };

/// The condition variables that have waiters.
enum clinux_shared_condition { clinux_new_commit, clinux_pick_next_writer };

/// Whether the mutexes are those of glibc, which the programs that we share memory with use.
bool clinux_has_glibc(void);

/// Makes the mutexes and the two condition variables; 0, or an errno.
int clinux_shared_init(struct clinux_shared_info *info);

/// Locks; waits at most `milliseconds` (0: not at all). 0; EOWNERDEAD when the last holder died, the mutex is ours and
/// in order again; ETIMEDOUT; or another errno. To be unlocked by the same thread.
int clinux_shared_lock(struct clinux_shared_info *info, enum clinux_shared_mutex which, int64_t milliseconds);

/// Unlocks.
void clinux_shared_unlock(struct clinux_shared_info *info, enum clinux_shared_mutex which);

/// Whether a condition has waiters, killed ones included.
bool clinux_shared_is_awaited(struct clinux_shared_info *info, enum clinux_shared_condition which);

/// Wakes everybody who waits for a condition. May hang for ever if a waiting process was killed.
void clinux_shared_broadcast(struct clinux_shared_info *info, enum clinux_shared_condition which);

/// Maps `length` bytes of `fd` for reading and writing, shared; NULL with errno. Bytes beyond the end of the file
/// become accessible as it grows; access to them before that marks the mapping as cut, like clinux_map_shared.
void *clinux_map_writable(int fd, size_t length);

/// An epoll descriptor that reports each write to the pipe `fd` once; -1 with errno.
int clinux_edge_listener(int fd);

/// Waits for a report; 1 when there is one, 0 when the time is over or a signal came, -1 with errno.
int clinux_edge_wait(int listener, int milliseconds);

/// Locks the byte at `position` for reading, on behalf of the open file `fd`; the kernel takes the lock back when the
/// last descriptor of that open file is closed. The byte need not exist. 0, or an errno.
int clinux_claim(int fd, int64_t position);

/// The same for writing: no other open file of the same file has the byte locked then. EAGAIN or EACCES if one has.
int clinux_claim_alone(int fd, int64_t position);

/// Takes back clinux_claim and clinux_claim_alone.
void clinux_disclaim(int fd, int64_t position);

/// Whether another open file of the same file has locked a byte of `count` from `position` on. 1 or 0, or -errno.
int clinux_is_claimed(int fd, int64_t position, int64_t count);

/// Posix_fallocate, or ftruncate where the file system has no such thing; 0, or an errno.
int clinux_reserve_file(int fd, int64_t size);

static inline uint32_t *clinux_next_ticket(struct clinux_shared_info *info) { return &info->next_ticket; }
static inline uint32_t *clinux_next_served(struct clinux_shared_info *info) { return &info->next_served; }
static inline uint32_t *clinux_newest(struct clinux_shared_info *info) { return &info->newest; }
static inline uint32_t *clinux_allocating(struct clinux_shared_info *info) { return &info->allocating; }
static inline uint8_t *clinux_init_complete(struct clinux_shared_info *info) { return &info->init_complete; }
static inline uint8_t *clinux_in_critical_phase(struct clinux_shared_info *info) { return &info->in_critical_phase; }
static inline uint64_t *clinux_version_count(struct clinux_shared_info *info) { return &info->version_count; }
static inline uint64_t *clinux_writing_page_offset(struct clinux_shared_info *info) {
  return &info->writing_page_offset;
}
static inline uint64_t *clinux_write_counter(struct clinux_shared_info *info) { return &info->write_counter; }
static inline uint64_t *clinux_entry_version(struct clinux_version_entry *entry) { return &entry->version; }

static inline uint8_t clinux_load_8(uint8_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void clinux_store_8(uint8_t *p, uint8_t value) { __atomic_store_n(p, value, __ATOMIC_SEQ_CST); }
static inline uint32_t clinux_load_32(uint32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void clinux_store_32(uint32_t *p, uint32_t value) { __atomic_store_n(p, value, __ATOMIC_RELEASE); }
static inline uint32_t clinux_add_32(uint32_t *p, uint32_t value) {
  return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
}
static inline bool clinux_swap_32(uint32_t *p, uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(p, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
static inline uint64_t clinux_load_64(uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void clinux_store_64(uint64_t *p, uint64_t value) { __atomic_store_n(p, value, __ATOMIC_SEQ_CST); }
