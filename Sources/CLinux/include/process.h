// Operations on processes, mounts and terminals that Swift's Glibc module hides: argv, fork, close_range, umount2,
// syslog, device numbers, extended attributes, and systemd's readiness protocol.
#pragma once
#include <stdint.h>
#include <sys/types.h>
#include <sys/xattr.h>

/// The arguments of the program, beginning with its name; 0 and NULL if the C library does not provide them.
int clinux_argument_count(void);
const char *clinux_argument(int index);

/// fork(2). Only before any thread exists.
pid_t clinux_fork(void);

/// Closes every descriptor above 2, except the two given (-1: none).
void clinux_close_descriptors_except(int first, int second);

/// Limits the number of heaps shared by all threads to `most`. Only before any other thread exists.
void clinux_limit_heaps(int most);

/// Unmounts `path` without following a symbolic link; `lazy` detaches a busy tree. Returns 0 or an errno.
int clinux_unmount(const char *path, int lazy);

/// Returns a descriptor that becomes readable when the process ends, or -errno.
int clinux_process_descriptor(pid_t process);

/// Reads an extended attribute of a path whose file system may not respond, in a child process. Returns its length, or
/// -errno; -ETIMEDOUT if there is no response within `milliseconds`.
ssize_t clinux_ask_attribute(const char *path, const char *name, void *value, size_t size, int milliseconds);

/// Reads an extended attribute of an open file or directory. Returns its length, or -errno.
ssize_t clinux_attribute(int descriptor, const char *name, void *value, size_t size);

/// Writes one line to the system log, tagged `realmfs`. The priority is one of those of syslog(3).
void clinux_log_to_system(int priority, const char *text);

/// Sends `state` ("READY=1") to the socket named by $NOTIFY_SOCKET. Returns 1 if sent, 0 without such a socket, or
/// -errno.
int clinux_notify_manager(const char *state);

/// Returns the two parts of a device number, as /proc/locks and /proc/self/mountinfo print them.
uint32_t clinux_device_major(dev_t device);
uint32_t clinux_device_minor(dev_t device);

/// Overwrites memory that held a secret, in a way that the compiler cannot optimize away.
void clinux_wipe(void *start, size_t count);

/// Makes SIGINT, SIGTERM and SIGHUP, unless ignored, write their number as one byte into a pipe and have no other
/// effect. Returns the end to read from, which is the same at each call, or -errno.
int clinux_watch_interruptions(void);

/// Makes these signals terminate the process again.
void clinux_unwatch_interruptions(void);

/// Terminates the process by `signal`, as if it were not caught.
void clinux_die_of(int signal);

/// Makes `signal` have no effect except that the call it interrupts fails: with EFBIG for SIGXFSZ, EPIPE for SIGPIPE,
/// EINTR for others. Programs started by this one are not affected.
void clinux_survive(int signal);

/// Returns the number of columns of the terminal `fd`; 0 if it is not a terminal or the number is unknown.
int clinux_terminal_columns(int fd);

/// Returns the number of columns that a Unicode scalar occupies on a terminal: 0 to 2, or -1 if it is not printable,
/// according to the C library's table.
int clinux_scalar_width(uint32_t scalar);
