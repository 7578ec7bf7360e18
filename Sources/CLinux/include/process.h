// Calls on processes, mounts and terminals that Swift's Glibc module hides: argv, fork, close_range, umount2, syslog,
// device numbers, extended attributes, and the few bytes of systemd's readiness protocol.
#pragma once
#include <stdint.h>
#include <sys/types.h>
#include <sys/xattr.h>

/// The words that the program was started with, the program itself first; 0 and NULL where the C library does not tell.
int clinux_argument_count(void);
const char *clinux_argument(int index);

/// fork(2). Only before any thread exists.
pid_t clinux_fork(void);

/// Closes every descriptor above 2, except the two named (-1: none).
void clinux_close_descriptors_except(int first, int second);

/// Makes all threads share at most so many heaps. Only before any other thread exists.
void clinux_limit_heaps(int most);

/// Unmounts `path` without following a symbolic link; `lazy` detaches a busy tree. 0, or an errno.
int clinux_unmount(const char *path, int lazy);

/// A descriptor of a process that becomes readable when the process has ended, or -errno.
int clinux_process_descriptor(pid_t process);

/// The value of an extended attribute of a path whose file system may not answer, asked for by a child process: its
/// length, or -errno; -ETIMEDOUT without an answer within so many milliseconds.
ssize_t clinux_ask_attribute(const char *path, const char *name, void *value, size_t size, int milliseconds);

/// The value of an extended attribute of an open file or directory: its length, or -errno.
ssize_t clinux_attribute(int descriptor, const char *name, void *value, size_t size);

/// Writes one line to the system log, tagged `realmfs`. The priority is one of syslog(3)'s.
void clinux_log_to_system(int priority, const char *text);

/// Sends `state` ("READY=1") to the socket named by $NOTIFY_SOCKET. 1 when sent, 0 without such a socket, or -errno.
int clinux_notify_manager(const char *state);

/// The two parts of a device number, as /proc/locks and /proc/self/mountinfo print them.
uint32_t clinux_device_major(dev_t device);
uint32_t clinux_device_minor(dev_t device);

/// Overwrites memory that held a secret; the compiler cannot drop it.
void clinux_wipe(void *start, size_t count);

/// From now on SIGINT, SIGTERM and SIGHUP, unless they are ignored, do nothing but write their number, one byte, into a
/// pipe. The end to read it from, the same at each call, or -errno.
int clinux_watch_interruptions(void);

/// These signals end the process again.
void clinux_unwatch_interruptions(void);

/// Ends the process by `signal`, as if it had not been caught.
void clinux_die_of(int signal);

/// From now on `signal` only makes the call that it interrupts fail: with EFBIG after SIGXFSZ, with EPIPE after
/// SIGPIPE, with EINTR after others. Programs that this one starts are not affected.
void clinux_survive(int signal);

/// The columns of the terminal that `fd` is; 0 if it is none, or does not know.
int clinux_terminal_columns(int fd);

/// The columns that a Unicode scalar takes on a terminal: 0 to 2, or -1 if it is not one to print. By the C library's
/// table.
int clinux_scalar_width(uint32_t scalar);
