// One step at a time: the calls of the C library by which a program touches files, waits and tells the time, with a
// scheduler in them. Programs of a simulation are processes that were forked by one director and share a table with it;
// of all their threads one runs, until its next call. Then the seed decides who goes on, what fails, who is killed.
// Nothing here is in a program that ships: the definitions take the place of the C library's in the simulator only.
//
// Outside of a simulation each call is the C library's own.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { sim_programs = 5 };

/// Why the director gets its turn.
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
  /// Something is wrong; `text` says what.
  sim_wrong,
};

/// How often what happens, in 10,000 steps.
struct sim_rates {
  int kill, kill_all, power, stop, fault, jump, move;
  /// Whether syncs may end well with nothing on the disk.
  bool lies;
  /// Whether pages of 4096 bytes are never written in part.
  bool has_pages;
};

/// What was counted.
struct sim_counts {
  uint64_t steps, switches, kills, power_cuts, faults, stops, jumps, moves, reused_ids, commits, reads, actions;
  /// Nanoseconds of the simulated clock.
  int64_t time;
  /// Depends on each step.
  uint64_t trace;
};

/// Makes the table that all share. 0, or an errno.
int sim_begin(void);

/// Forgets what was, and starts a simulation of `steps` steps of programs on the files in `folder`.
void sim_reset(uint64_t seed, uint64_t steps, int programs, struct sim_rates rates);

/// Starts a program: `body` in a process of its own, when its turn comes. 0, or an errno.
int sim_start(int program, uint64_t seed, void (*body)(int program, uint64_t seed));

/// Prints every line of the story from now on.
void sim_be_loud(void);

/// Lets programs take steps until the director has something to do.
enum sim_event sim_run(void);

/// The program that an event is about.
int sim_target(void);

/// Kills a program, as SIGKILL does.
void sim_end(int program);

/// Brings the file at `path` to a state that a power cut could leave. `unit(page)` bytes are written as a whole.
/// Returns how many writes were not on disk.
int sim_cut_power(const char *path, bool is_encrypted);

/// Lets what is written count as being on disk.
void sim_forget_writes(void);

struct sim_counts sim_counts(void);

/// A random number below `bound`, from the seed.
uint64_t sim_random(uint64_t bound);

/// What the last steps were, in lines.
const char *sim_story(void);

/// What is wrong.
const char *sim_text(void);

// MARK: for programs

/// A step of its own: others may take their turns now.
void sim_step(const char *name);

/// Writes a line to the story.
void sim_note(const char *text);

/// Something is wrong: the simulation ends. Does not return.
void sim_fail(const char *text);

/// What is known to be on disk: the last commit of each program, and the newest version.
struct sim_promise {
  int64_t numbers[sim_programs];
  uint64_t version;
};

/// Begins an action; what is promised at this moment.
struct sim_promise sim_action(void);

/// Dies at once, and leaves everything as a killed program does. Does not return.
void sim_die(void);

/// Whether each program knows by now that the realm exists, and makes it no more.
bool sim_is_made(void);

/// What is promised now, for the director.
struct sim_promise sim_promised(void);

/// A commit of this program is on disk.
void sim_acknowledge(int64_t number, uint64_t version);

/// Promises less, after a disk that lied.
void sim_promise_again(struct sim_promise promise);

void sim_count_read(void);
void sim_count_kill(void);
/// The file was moved away, or back.
void sim_note_move(bool is_away);
