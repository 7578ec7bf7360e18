// Robust mutexes as glibc lays them out, in memory that other users may write to at any moment.
//
// glibc's own calls follow the list pointers in the mutex, and write where they lead. Here every pointer that is
// followed is in private memory; what other processes write into a mutex can make a call fail, but no more. Programs
// that use glibc's calls on the same mutex see no difference. Source: docs/format/5-coordination.md 5.2.
#pragma once
#include <pthread.h>
#include <stdint.h>

/// Locks; waits at most `milliseconds` (0: not at all). 0; EOWNERDEAD when the last holder died: the mutex is ours and
/// in order again; ETIMEDOUT; EINVAL for a mutex of another kind; or another errno.
int robust_lock(pthread_mutex_t *mutex, int64_t milliseconds);

/// Unlocks, on the thread that locked.
void robust_unlock(pthread_mutex_t *mutex);
