// Robust mutexes with the layout of glibc, in memory that other users may write to at any time.
//
// glibc's own functions follow the list pointers in a mutex and write to their targets. The functions below only follow
// pointers in private memory, so whatever other processes write into a mutex can at most make a call fail. They are
// compatible with programs that use glibc's functions on the same mutex. Source: docs/format/5-coordination.md 5.2.
#pragma once
#include <pthread.h>
#include <stdint.h>

/// Locks a mutex, waiting at most `milliseconds` (0: not at all). Returns 0; EOWNERDEAD if the last holder died, in
/// which case the mutex is locked and consistent again; ETIMEDOUT; EINVAL for a mutex of another kind; or another
/// errno.
int robust_lock(pthread_mutex_t *mutex, int64_t milliseconds);

/// Unlocks a mutex, on the thread that locked it.
void robust_unlock(pthread_mutex_t *mutex);
