// See process.h.
#define _GNU_SOURCE
#include "include/process.h"
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

pid_t clinux_fork(void) { return fork(); }

static void close_between(int first, int last) {
  if (first <= last) close_range((unsigned)first, (unsigned)last, 0);
}

void clinux_close_descriptors_except(int first, int second) {
  int low = first < second ? first : second, high = first < second ? second : first, next = 3;
  if (low >= next) {
    close_between(next, low - 1);
    next = low + 1;
  }
  if (high >= next) {
    close_between(next, high - 1);
    next = high + 1;
  }
  close_range((unsigned)next, ~0U, 0);
}

void clinux_limit_heaps(int most) { mallopt(M_ARENA_MAX, most); }

int clinux_unmount(const char *path, int lazy) {
  return umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0 ? 0 : errno;
}

int clinux_process_descriptor(pid_t process) {
  long descriptor = syscall(SYS_pidfd_open, process, 0);
  return descriptor >= 0 ? (int)descriptor : -errno;
}

void clinux_log_to_system(int priority, const char *text) {
  openlog("realmfs", LOG_PID, LOG_DAEMON);  // cheap, and safe to repeat
  syslog(priority, "%s", text);
}

int clinux_notify_manager(const char *state) {
  const char *name = getenv("NOTIFY_SOCKET");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (!name || !*name) return 0;
  size_t length = strlen(name);
  if (length >= sizeof address.sun_path) return -ENAMETOOLONG;
  memcpy(address.sun_path, name, length);
  if (name[0] == '@') address.sun_path[0] = 0;
  int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -errno;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  ssize_t sent = sendto(descriptor, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
  int result = sent < 0 ? -errno : 1;
  close(descriptor);
  return result;
}

uint32_t clinux_device_major(dev_t device) { return major(device); }
uint32_t clinux_device_minor(dev_t device) { return minor(device); }

void clinux_wipe(void *start, size_t count) { explicit_bzero(start, count); }

static volatile sig_atomic_t interruption;

static void note(int signal) { interruption = signal; }

void clinux_note_interruptions(void) {
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    struct sigaction former;
    if (sigaction(signals[i], NULL, &former) != 0 || former.sa_handler == SIG_IGN) continue;
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signals[i], &action, NULL);
  }
}

int clinux_interruption(void) { return interruption; }

void clinux_die_of(int number) {
  signal(number, SIG_DFL);
  raise(number);
}
