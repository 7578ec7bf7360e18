// The memory shared by all programs that have a realm open, and operations on it that Swift lacks: robust mutexes at a
// given address, atomic access to single fields, edge-triggered waits on a pipe. Other users may write to this memory,
// so no pointer in it is followed and no number is trusted. Layout: docs/format/5-coordination.md 5.2.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The header of a lock file; the version list follows it.
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

/// The mutexes of a lock file, in locking order.
enum clinux_shared_mutex { clinux_write_mutex, clinux_control_mutex, clinux_versions_mutex };

/// The condition variables that have waiters.
enum clinux_shared_condition { clinux_new_commit, clinux_pick_next_writer };

/// Returns true if the mutexes are those of glibc, as in the programs that share this memory.
bool clinux_has_glibc(void);

/// Initializes the mutexes and the two condition variables. Returns 0 or an errno.
int clinux_shared_init(struct clinux_shared_info *info);

/// Locks a mutex, waiting at most `milliseconds` (0: not at all). Returns 0; EOWNERDEAD if the last holder died, in
/// which case the mutex is locked and consistent again; ETIMEDOUT; or another errno. The same thread must unlock it.
int clinux_shared_lock(struct clinux_shared_info *info, enum clinux_shared_mutex which, int64_t milliseconds);

/// Unlocks a mutex.
void clinux_shared_unlock(struct clinux_shared_info *info, enum clinux_shared_mutex which);

/// Returns true if a condition has waiters, including killed ones.
bool clinux_shared_is_awaited(struct clinux_shared_info *info, enum clinux_shared_condition which);

/// Wakes all waiters of a condition. May hang forever if a waiting process was killed.
void clinux_shared_broadcast(struct clinux_shared_info *info, enum clinux_shared_condition which);

/// Maps `length` bytes of `fd` for reading and writing, shared; NULL with errno on failure. Bytes beyond the end of the
/// file become accessible when it grows. Accessing them earlier marks the mapping as cut, as with clinux_map_shared.
void *clinux_map_writable(int fd, size_t length);

/// Returns an epoll descriptor that reports each write to the pipe `fd` once; -1 with errno.
int clinux_edge_listener(int fd);

/// Waits for a report. Returns 1 for a report, 0 on timeout or a signal, -1 with errno on failure.
int clinux_edge_wait(int listener, int milliseconds);

/// Places a read lock on the byte at `position`, owned by the open file description of `fd`. The kernel releases the
/// lock when the last descriptor of that description is closed. The byte need not exist. Returns 0 or an errno.
int clinux_claim(int fd, int64_t position);

/// Like clinux_claim, but places a write lock, which excludes all locks of other open file descriptions on the byte.
/// Returns EAGAIN or EACCES if there is one.
int clinux_claim_alone(int fd, int64_t position);

/// Releases the lock of clinux_claim or clinux_claim_alone.
void clinux_disclaim(int fd, int64_t position);

/// Checks whether another open file description has locked a byte of `count` from `position` on. Returns 1 or 0, or
/// -errno.
int clinux_is_claimed(int fd, int64_t position, int64_t count);

/// posix_fallocate(3), or ftruncate(2) if the file system does not support it. Returns 0 or an errno.
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
