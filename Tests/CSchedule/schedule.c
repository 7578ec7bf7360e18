// The scheduler: which thread runs. See include/schedule.h.
#define _GNU_SOURCE
#include "table.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "system.h"

struct table *table;
_Thread_local struct thread *me;

static const int64_t second = 1000000000;
/// The maximum duration of an action of a program, on the simulated clock.
static const int64_t patience = 600 * second;
/// The maximum number of real seconds without a step.
static const int silence = 30;

// MARK: random numbers and the story

static uint64_t next_random(void) {
  uint64_t z = table->random += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

uint64_t draw(uint64_t bound) { return (uint64_t)(((unsigned __int128)next_random() * bound) >> 64); }
uint64_t sim_random(uint64_t bound) { return draw(bound); }

static void add_line(int program, const char *text, int64_t detail) {
  char *line = table->lines[table->line_count++ % most_lines];
  snprintf(line, line_size, "%9.3f ms  %d%s %s %lld", (double)table->now / 1e6, program, me && !me->is_main ? "'" : "",
           text, (long long)detail);
  if (table->is_loud) dprintf(2, "%s\n", line);
}

void sim_note(const char *text) {
  char *line = table->lines[table->line_count++ % most_lines];
  snprintf(line, line_size, "%9.3f ms  %d: %s", (double)table->now / 1e6, me ? me->program : -1, text);
  if (table->is_loud) dprintf(2, "%s\n", line);
}

const char *sim_story(void) {
  static char story[most_lines * (line_size + 4)];
  size_t at = 0;
  uint64_t first = table->line_count > most_lines ? table->line_count - most_lines : 0;
  for (uint64_t i = first; i < table->line_count; i++) {
    at += (size_t)snprintf(story + at, sizeof story - at, "  %s\n", table->lines[i % most_lines]);
  }
  story[at] = 0;
  return story;
}

const char *sim_text(void) { return table->text; }

// MARK: turns

static void wait_for_turn(struct thread *thread) {
  while (__atomic_load_n(&thread->turn, __ATOMIC_ACQUIRE) == 0) {
    system_call(SYS_futex, &thread->turn, FUTEX_WAIT, 0, NULL, NULL, 0);
  }
  __atomic_store_n(&thread->turn, 0, __ATOMIC_RELAXED);
}

static void give_turn(struct thread *thread) {
  table->current = (int)(thread - table->threads);
  table->counts.switches++;
  __atomic_store_n(&thread->turn, 1, __ATOMIC_RELEASE);
  system_call(SYS_futex, &thread->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool is_stopped(const struct thread *thread) {
  return table->program[thread->program].stopped_until > table->counts.steps;
}

static void ask(enum sim_event event, int target) {
  table->event = event;
  table->target = target;
}

/// Chooses the events besides steps.
static void happen(void) {
  const struct sim_rates *rates = &table->rates;
  // A file that was moved away is soon moved back.
  if (table->is_away && draw(100) == 0) return ask(sim_move, 0);
  int64_t number = (int64_t)draw(10000);
  if ((number -= rates->kill) < 0) return ask(sim_kill, (int)draw((uint64_t)table->programs));
  if ((number -= rates->kill_all) < 0) return ask(sim_kill_all, 0);
  if ((number -= rates->power) < 0) {
    // While something is being written; often over data that a dead program left in memory.
    table->writes_to_cut = 1 + (int)draw(16);
    if (draw(2)) return ask(draw(2) ? sim_kill : sim_kill_all, (int)draw((uint64_t)table->programs));
    return;
  }
  if ((number -= rates->move) < 0) return ask(sim_move, 0);
  if ((number -= rates->stop) < 0) {
    struct program *program = &table->program[draw((uint64_t)table->programs)];
    program->stopped_until = table->counts.steps + 50 + draw(400);
    table->counts.stops++;
    return;
  }
  if ((number -= rates->jump) < 0) {
    int64_t jump = (int64_t)draw(3600) * second;
    table->now += jump;
    for (int i = 0; i < table->programs; i++) table->program[i].since += jump;
    // The time of day can also go back.
    table->realtime_shift += ((int64_t)draw(7200) - 3600) * second;
    table->counts.jumps++;
  }
}

static bool can_go_on(const struct thread *thread) {
  switch (thread->state) {
    case thread_free: return false;
    case thread_ready: return true;
    case thread_polls: return thread->seen != table->progress || (thread->wake >= 0 && thread->wake <= table->now);
    case thread_sleeps: return thread->wake <= table->now;
    case thread_waits: return thread->is_signalled || (thread->wake >= 0 && thread->wake <= table->now);
  }
  return false;
}

/// Returns the thread that continues; NULL for the director.
static struct thread *choose(void) {
  if (table->event != sim_none) return NULL;
  while (true) {
    struct thread *found[most_threads];
    int weights[most_threads], count = 0, total = 0;
    bool has_stopped = false;
    int64_t wake = -1;
    for (int i = 1; i < most_threads; i++) {
      struct thread *thread = &table->threads[i];
      if (thread->state == thread_free) continue;
      if (is_stopped(thread)) {
        has_stopped = true;
      } else if (can_go_on(thread)) {
        found[count] = thread;
        weights[count] = thread->state == thread_polls ? 1 : 8;
        total += weights[count++];
      } else if (thread->state != thread_ready && thread->wake >= 0 && (wake < 0 || thread->wake < wake)) {
        wake = thread->wake;
      }
    }
    if (count > 0) {
      int number = (int)draw((uint64_t)total), at = 0;
      while ((number -= weights[at]) >= 0) at++;
      return found[at];
    }
    if (has_stopped) {
      for (int i = 0; i < table->programs; i++) {
        table->program[i].stopped_until = 0;
        table->program[i].since = table->now;
      }
      continue;
    }
    if (wake < 0) {
      snprintf(table->text, sizeof table->text, "all programs wait for ever");
      table->event = sim_wrong;
      return NULL;
    }
    if (wake > table->now) table->now = wake;
    for (int i = 0; i < table->programs; i++) {
      if (table->program[i].process && table->now - table->program[i].since > patience) {
        snprintf(table->text, sizeof table->text, "program %d waits for ever", i);
        table->event = sim_wrong;
        return NULL;
      }
    }
  }
}

void pass(void) {
  struct thread *self = me, *next = choose();
  if (!next) next = &table->threads[0];
  if (next != self) {
    give_turn(next);
    wait_for_turn(self);
  }
  self->state = thread_ready;
  self->is_signalled = false;
}

static void count_step(const char *name, int64_t detail) {
  table->counts.steps++;
  table->now += 1000 + (int64_t)draw(20000);
  uint64_t trace = table->counts.trace ^ (uint64_t)(me - table->threads) ^ (uint64_t)detail << 8;
  for (const char *at = name; *at; at++) trace = (trace ^ (uint64_t)*at) * 0x100000001B3;
  table->counts.trace = trace ^ trace >> 29;
  add_line(me->program, name, detail);
  if (table->counts.steps >= table->limit) {
    ask(sim_done, 0);
  } else {
    happen();
  }
}

bool step(const char *name, int64_t detail) {
  table->progress++;
  me->state = thread_ready;
  count_step(name, detail);
  pass();
  if (draw(10000) >= (uint64_t)table->rates.fault) return false;
  return true;
}

void poll_until(int64_t wake) {
  me->state = thread_polls;
  me->seen = table->progress;
  me->wake = wake;
  pass();
}

void sim_step(const char *name) {
  if (me) step(name, 0);
}

void sim_fail(const char *text) {
  snprintf(table->text, sizeof table->text, "program %d: %s", me ? me->program : -1, text);
  if (!me) _exit(1);
  ask(sim_wrong, me->program);
  me->state = thread_free;
  give_turn(&table->threads[0]);
  while (true) pause();
}

void sim_die(void) {
  ask(sim_kill, me->program);
  while (true) pass();
}

bool sim_is_made(void) {
  for (int i = 0; i < table->programs; i++) {
    if (table->program[i].version == 0) return false;
  }
  return true;
}

// MARK: threads

struct thread *add_thread(int program, bool is_main) {
  for (int i = 1; i < most_threads; i++) {
    struct thread *thread = &table->threads[i];
    if (thread->state != thread_free) continue;
    *thread = (struct thread){.state = thread_ready, .program = program, .is_main = is_main};
    return thread;
  }
  return NULL;
}

void become(struct thread *thread) {
  me = thread;
  wait_for_turn(thread);
}

void leave(void) {
  struct thread *self = me;
  table->progress++;
  self->state = thread_free;
  me = NULL;
  struct thread *next = choose();
  give_turn(next ? next : &table->threads[0]);
}

// MARK: the director

int sim_begin(void) {
  void *memory = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  table = memory;
  return 0;
}

void sim_reset(uint64_t seed, uint64_t steps, int programs, struct sim_rates rates) {
  bool is_loud = table->is_loud;
  memset(table, 0, offsetof(struct table, unsynced));
  table->is_loud = is_loud;
  table->random = seed;
  table->limit = steps;
  table->programs = programs;
  table->rates = rates;
  table->now = second;
}

void sim_be_loud(void) { table->is_loud = true; }

/// Makes the next process get the number of one that died, if the system permits it.
static bool reuse_number(pid_t process) {
  int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[16];
  int size = snprintf(text, sizeof text, "%d", process - 1);
  bool is_done = write(fd, text, (size_t)size) == size;
  close(fd);
  return is_done;
}

int sim_start(int program, uint64_t seed, void (*body)(int, uint64_t)) {
  struct thread *thread = add_thread(program, true);
  if (!thread) return EAGAIN;
  struct program *place = &table->program[program];
  bool reuses = place->last_process && draw(2) == 0 && reuse_number(place->last_process);
  pid_t process = fork();
  if (process < 0) return errno;
  if (process == 0) {
    become(thread);
    body(program, seed);
    sim_fail("has ended by itself");
  }
  if (reuses && process == place->last_process) table->counts.reused_ids++;
  place->process = place->last_process = process;
  place->stopped_until = 0;
  place->since = table->now;
  place->version = 0;
  return 0;
}

/// Returns a program that has ended, and its status; or -1.
static int ended(int *status) {
  for (int i = 0; i < table->programs; i++) {
    pid_t process = table->program[i].process;
    if (process && waitpid(process, status, WNOHANG) == process) {
      table->program[i].process = 0;
      return i;
    }
  }
  return -1;
}

enum sim_event sim_run(void) {
  table->event = sim_none;
  struct thread *director = &table->threads[0], *next = choose();
  if (next) {
    give_turn(next);
    uint64_t steps = table->counts.steps;
    int quiet = 0;
    while (__atomic_load_n(&director->turn, __ATOMIC_ACQUIRE) == 0) {
      struct timespec time = {.tv_nsec = 200000000};
      system_call(SYS_futex, &director->turn, FUTEX_WAIT, 0, &time, NULL, 0);
      if (__atomic_load_n(&director->turn, __ATOMIC_ACQUIRE) != 0) break;
      int status, program = ended(&status);
      if (program >= 0) {
        snprintf(table->text, sizeof table->text, "program %d ended with signal %d", program, WTERMSIG(status));
        return sim_wrong;
      }
      quiet = table->counts.steps == steps ? quiet + 1 : 0;
      steps = table->counts.steps;
      if (quiet > silence * 5) {
        snprintf(table->text, sizeof table->text, "program %d runs for ever", table->threads[table->current].program);
        return sim_wrong;
      }
    }
    director->turn = 0;
  }
  return table->event;
}

int sim_target(void) { return table->target; }

void sim_end(int program) {
  struct program *place = &table->program[program];
  if (!place->process) return;
  kill(place->process, SIGKILL);
  int status;
  while (waitpid(place->process, &status, 0) < 0 && errno == EINTR) continue;
  place->process = 0;
  for (int i = 1; i < most_threads; i++) {
    if (table->threads[i].program == program) table->threads[i].state = thread_free;
  }
  table->progress++;
}

// MARK: what is counted and promised

struct sim_counts sim_counts(void) {
  table->counts.time = table->now;
  return table->counts;
}

struct sim_promise sim_action(void) {
  table->counts.actions++;
  table->program[me->program].since = table->now;
  table->program[me->program].version = table->promise.version;
  return table->promise;
}

struct sim_promise sim_promised(void) { return table->promise; }
void sim_promise_again(struct sim_promise promise) { table->promise = promise; }
void sim_count_read(void) { table->counts.reads++; }
void sim_count_kill(void) { table->counts.kills++; }
void sim_note_move(bool is_away) {
  table->is_away = is_away;
  if (is_away) table->counts.moves++;
}

void sim_acknowledge(int64_t number, uint64_t version) {
  table->counts.commits++;
  struct sim_promise *promise = &table->promise;
  if (number > promise->numbers[me->program]) promise->numbers[me->program] = number;
  if (version > promise->version) promise->version = version;
}
