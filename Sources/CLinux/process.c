// See process.h.
#define _GNU_SOURCE
#include "include/process.h"
#include "include/coordination.h"
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>
#include <wchar.h>

static int argument_count;
static char **arguments;

// glibc passes the arguments of main to constructors.
__attribute__((constructor)) static void keep_arguments(int count, char **words) {
  if (!clinux_has_glibc()) return;
  argument_count = count;
  arguments = words;
}

int clinux_argument_count(void) { return argument_count; }

const char *clinux_argument(int index) { return index < argument_count ? arguments[index] : NULL; }

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

// Only the child waits for the file system. While that does not respond, the child cannot be killed and is left behind.
ssize_t clinux_ask_attribute(const char *path, const char *name, void *value, size_t size, int milliseconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
  pid_t child = fork();
  if (child < 0) {
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    return -error;
  }
  if (child == 0) {
    ssize_t length = getxattr(path, name, value, size);
    if (length < 0) length = -errno;
    ssize_t written = write(ends[1], &length, sizeof length);
    if (length > 0 && written == sizeof length) written = write(ends[1], value, (size_t)length);
    _exit(written < 0);
  }
  close(ends[1]);
  ssize_t length = -ETIMEDOUT, result = 0;
  struct pollfd request = {.fd = ends[0], .events = POLLIN};
  // The child writes the length and the value without waiting in between.
  if (poll(&request, 1, milliseconds) > 0 && read(ends[0], &length, sizeof length) == sizeof length) {
    while (result < length) {
      ssize_t count = read(ends[0], (char *)value + result, (size_t)(length - result));
      if (count == 0 || (count < 0 && errno != EINTR)) break;
      if (count > 0) result += count;
    }
    if (length < 0 || result < length) result = length < 0 ? length : -EIO;
    close(ends[0]);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    return result;
  }
  close(ends[0]);
  kill(child, SIGKILL);
  return -ETIMEDOUT;
}

ssize_t clinux_attribute(int descriptor, const char *name, void *value, size_t size) {
  ssize_t length = fgetxattr(descriptor, name, value, size);
  return length < 0 ? -errno : length;
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

static int interruptions[2] = {-1, -1};
static const int interrupting[] = {SIGINT, SIGTERM, SIGHUP};

static void pass_on(int number) {
  int error = errno;
  unsigned char byte = (unsigned char)number;
  // A full pipe already holds more signals than will be read.
  ssize_t written = write(interruptions[1], &byte, 1);
  (void)written;
  errno = error;
}

static void handle_interruptions(void (*handler)(int)) {
  for (size_t i = 0; i < sizeof interrupting / sizeof *interrupting; i++) {
    struct sigaction former;
    if (sigaction(interrupting[i], NULL, &former) != 0 || former.sa_handler == SIG_IGN) continue;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(interrupting[i], &action, NULL);
  }
}

int clinux_watch_interruptions(void) {
  if (interruptions[0] < 0 && pipe2(interruptions, O_CLOEXEC) != 0) return -errno;
  fcntl(interruptions[1], F_SETFL, O_NONBLOCK);
  handle_interruptions(pass_on);
  return interruptions[0];
}

void clinux_unwatch_interruptions(void) { handle_interruptions(SIG_DFL); }

void clinux_die_of(int number) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &only, NULL);
  raise(number);
}

static void do_nothing(int number) { (void)number; }

void clinux_survive(int signal) {
  // Not SIG_IGN, which is inherited across exec(3).
  struct sigaction action = {.sa_handler = do_nothing};
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, NULL);
}

int clinux_terminal_columns(int fd) {
  struct winsize size;
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int clinux_scalar_width(uint32_t scalar) {
  // wcwidth(3) uses the locale of the thread. This locale is built into the C library.
  static __thread int is_set;
  if (!is_set) {
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (locale) uselocale(locale);
    is_set = 1;
  }
  return wcwidth((wchar_t)scalar);
}
