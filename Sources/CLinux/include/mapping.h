// Read-only file mappings that survive truncation by other processes, and the few atomic helpers that Swift lacks for
// memory shared with other processes.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Maps `length` bytes of `fd` read-only and shared; NULL with errno on failure. Until clinux_unmap, a page of the
/// mapping that lies beyond the end of the file reads as zeros instead of raising SIGBUS. The first call installs a
/// SIGBUS handler, which passes faults outside such mappings on to the handler that was there before.
void *clinux_map_shared(int fd, size_t length);

/// Whether a page beyond the end of the file was touched. From then on the mapping no longer shows the file.
bool clinux_mapping_was_cut(const void *base);

/// Ends a mapping of clinux_map_shared.
void clinux_unmap(void *base, size_t length);

/// Reserves `length` bytes of zeroed private memory without committing any; NULL with errno on failure.
void *clinux_reserve(size_t length);

/// Gives back what clinux_reserve made.
void clinux_unreserve(void *base, size_t length);

/// Drops the resident pages of a shared mapping; the next access reads them from the page cache again.
void clinux_drop_pages(void *base, size_t length);

/// memmem(3), which Glibc's module does not show: where `part` begins in `bytes`, or NULL.
const void *clinux_find(const void *bytes, size_t length, const void *part, size_t part_length);

/// Orders earlier loads before later ones.
static inline void clinux_acquire_fence(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }

/// Locked, wiped on release; for key material. NULL with errno on failure.
void *clinux_secret_alloc(size_t length);
void clinux_secret_free(void *base, size_t length);

/// O_NOATIME, which Glibc's module does not show.
int clinux_o_noatime(void);

/// O_PATH of open(2): a descriptor of a place, not of what it holds.
int clinux_o_path(void);

/// Gives memory that was freed back to the system.
void clinux_trim_heap(void);

/// Bytes of mapped files that are resident in this process; 0 if unknown.
size_t clinux_resident_file_bytes(void);
