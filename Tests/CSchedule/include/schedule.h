// A scheduler in the calls of the C library by which a program accesses files, waits and reads clocks: one step at a
// time. The programs of a simulation are processes forked by one director, which share a table with it; of all their
// threads one runs, until its next call. Then the seed determines which thread continues, which call fails, and which
// program is killed. No shipped program contains any of this: the definitions replace the C library's in the simulator
// only.
//
// Outside of a simulation each call is the C library's own.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { sim_programs = 5 };

/// The reason why the director gets its turn.
enum sim_event {
  sim_none,
  /// All steps are done.
  sim_done,
  /// A program is to be killed; its number is in `target`.
  sim_kill,
  /// All are to be killed.
  sim_kill_all,
  /// The power is to fail.
  sim_power,
  /// The file is to be moved away, or back.
  sim_move,
  /// A check failed; `text` describes it.
  sim_wrong,
};

/// The frequency of each event in 10,000 steps.
struct sim_rates {
  int kill, kill_all, power, stop, fault, jump, move;
  /// True if a sync may succeed without writing anything to the disk.
  bool lies;
  /// True if pages of 4096 bytes are never written in part.
  bool has_pages;
};

/// The counts of a simulation.
struct sim_counts {
  uint64_t steps, switches, kills, power_cuts, faults, stops, jumps, moves, reused_ids, commits, reads, actions;
  /// The simulated time in nanoseconds.
  int64_t time;
  /// A hash of all steps.
  uint64_t trace;
};

/// Creates the table that all processes share. Returns 0, or an errno.
int sim_begin(void);

/// Resets the state, and starts a simulation of `steps` steps of `programs` programs.
void sim_reset(uint64_t seed, uint64_t steps, int programs, struct sim_rates rates);

/// Starts a program: `body` in a separate process, when its turn comes. Returns 0, or an errno.
int sim_start(int program, uint64_t seed, void (*body)(int program, uint64_t seed));

/// Prints every line of the story from now on.
void sim_be_loud(void);

/// Runs programs until the director has something to do.
enum sim_event sim_run(void);

/// The program that an event concerns.
int sim_target(void);

/// Kills a program, as SIGKILL does.
void sim_end(int program);

/// Puts the file at `path` into a state that a power cut could leave. `unit(page)` bytes are written atomically.
/// Returns the number of writes that were not on disk.
int sim_cut_power(const char *path, bool is_encrypted);

/// Marks all writes as being on disk.
void sim_forget_writes(void);

struct sim_counts sim_counts(void);

/// Returns a random number below `bound`, from the seed.
uint64_t sim_random(uint64_t bound);

/// Returns the last steps, one per line.
const char *sim_story(void);

/// Returns the description of the failed check.
const char *sim_text(void);

// MARK: for programs

/// A separate step: others may take their turns now.
void sim_step(const char *name);

/// Writes a line to the story.
void sim_note(const char *text);

/// Reports a failed check and ends the simulation. Does not return.
void sim_fail(const char *text);

/// The content known to be on disk: the last commit of each program, and the newest version.
struct sim_promise {
  int64_t numbers[sim_programs];
  uint64_t version;
};

/// Begins an action; returns the current promise.
struct sim_promise sim_action(void);

/// Dies at once, leaving everything as a killed program does. Does not return.
void sim_die(void);

/// Returns true if every program knows that the realm exists, so that none creates it again.
bool sim_is_made(void);

/// Returns the current promise, for the director.
struct sim_promise sim_promised(void);

/// Records that a commit of this program is on disk.
void sim_acknowledge(int64_t number, uint64_t version);

/// Reduces the promise, after a disk that lied.
void sim_promise_again(struct sim_promise promise);

void sim_count_read(void);
void sim_count_kill(void);
/// The file was moved away, or back.
void sim_note_move(bool is_away);
