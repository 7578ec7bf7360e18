// The state that the processes of a simulation share. Only the process whose turn it is accesses it.
#pragma once
#include "include/schedule.h"
#include <stddef.h>
#include <sys/types.h>

enum { most_threads = 40, most_lines = 64, line_size = 120, most_files = 16, most_writes = 1 << 16 };
enum { log_size = 64 << 20 };

enum thread_state {
  thread_free,
  /// Can continue.
  thread_ready,
  /// Checks again when another thread has done something, or at `wake`.
  thread_polls,
  /// Continues at `wake`.
  thread_sleeps,
  /// Continues when `condition` is signalled, or at `wake`.
  thread_waits,
};

struct thread {
  int turn;
  enum thread_state state;
  int program;
  bool is_main, is_signalled;
  uintptr_t condition;
  int64_t wake;
  uint64_t seen;
};

struct program {
  pid_t process, last_process;
  uint64_t stopped_until;
  /// The time when its action began, and the version at that time.
  int64_t since;
  uint64_t version;
};

/// Data written to files and not synced, oldest first.
struct unsynced {
  ino_t file;
  off_t offset;
  uint32_t size;
  uint32_t bytes;
  /// A sync failed, so no later one writes it.
  bool is_doomed;
};

struct file {
  ino_t file;
  int64_t written;
  uint32_t failed_syncs;
};

struct table {
  uint64_t random;
  int64_t now, realtime_shift;
  uint64_t limit, progress;
  struct sim_rates rates;
  struct sim_counts counts;
  struct sim_promise promise;
  int programs;
  /// The thread whose turn it is; 0 is the director.
  int current;
  enum sim_event event;
  int target;
  struct thread threads[most_threads];
  struct program program[sim_programs];
  struct file files[most_files];
  int next_file;
  char lines[most_lines][line_size];
  uint64_t line_count;
  bool is_loud, is_away;
  /// The number of writes after which the power fails; 0 if it does not.
  int writes_to_cut;
  char text[1024];
  int writes;
  uint32_t log_end;
  struct unsynced unsynced[most_writes];
  unsigned char log[log_size];
};

extern struct table *table;
/// The place of this thread in the table; NULL outside of a simulation.
extern _Thread_local struct thread *me;

/// Lets others take their turns; returns when it is this thread's turn.
void pass(void);
/// A step with a name. Returns true if a call may fail now.
bool step(const char *name, int64_t detail);
/// Waits until something has changed, or until `wake` (-1: forever).
void poll_until(int64_t wake);
/// Adds a thread of this program, which waits for its turn; returns NULL if there are too many.
struct thread *add_thread(int program, bool is_main);
/// Makes `thread` the current thread, and waits for its turn.
void become(struct thread *thread);
/// Ends the current thread; another one gets the turn.
void leave(void);
uint64_t draw(uint64_t bound);

/// Records that bytes at `offset` are about to be written, or truncated if `size` is -1.
void note_write(int fd, off_t offset, ssize_t size);
/// Records that everything is on disk.
void note_sync(int fd);
/// Records that a sync failed. If the disk lies, no later sync tries again.
void note_failed_sync(int fd);
/// Returns true if another sync of the file failed since this descriptor was opened or synced. The system reports each
/// failure once.
bool has_missed_failure(int fd);
struct file *file_of(ino_t number);
