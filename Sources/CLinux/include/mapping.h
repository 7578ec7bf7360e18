// Read-only file mappings that survive truncation by other processes, and a few memory functions that Swift lacks.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Maps `length` bytes of `fd` read-only and shared; NULL with errno on failure. Until clinux_unmap, a page of the
/// mapping beyond the end of the file reads as zeros instead of raising SIGBUS. The first call installs a SIGBUS
/// handler, which passes faults outside such mappings on to the previous handler.
void *clinux_map_shared(int fd, size_t length);

/// Returns true if a page beyond the end of the file was accessed. From then on, the mapping no longer reflects the
/// file.
bool clinux_mapping_was_cut(const void *base);

/// Removes a mapping of clinux_map_shared or clinux_map_writable.
void clinux_unmap(void *base, size_t length);

/// Reserves `length` bytes of zeroed private memory without committing it; NULL with errno on failure.
void *clinux_reserve(size_t length);

/// Releases memory of clinux_reserve.
void clinux_unreserve(void *base, size_t length);

/// Drops the resident pages of a shared mapping. The next access reads them from the page cache again.
void clinux_drop_pages(void *base, size_t length);

/// Replaces `length` bytes at `base`, which are whole pages of a mapping of clinux_map_shared, with a private copy that
/// later changes of the file do not affect. Such pages must not be dropped. Returns false with errno on failure.
bool clinux_keep_pages(void *base, size_t length);

/// memmem(3), which Swift's Glibc module hides: the position of `part` in `bytes`, or NULL.
const void *clinux_find(const void *bytes, size_t length, const void *part, size_t part_length);

/// FNV-1a with 64 bits: the hash of no bytes, and the hash after one more byte, or after a word if no file keeps it.
static inline uint64_t clinux_fnv_start(void) { return 0xCBF29CE484222325; }
static inline uint64_t clinux_fnv_step(uint64_t hash, uint64_t byte) { return (hash ^ byte) * 0x100000001B3; }

/// Orders earlier loads before later ones.
static inline void clinux_acquire_fence(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }

/// Allocates memory for key material: locked, and wiped when freed. NULL with errno on failure.
void *clinux_secret_alloc(size_t length);
void clinux_secret_free(void *base, size_t length);

/// O_NOATIME, which Swift's Glibc module hides.
int clinux_o_noatime(void);

/// O_PATH of open(2): a descriptor of a location, without access to its content.
int clinux_o_path(void);

/// Returns freed heap memory to the system.
void clinux_trim_heap(void);

/// Returns the number of bytes of mapped files that are resident in this process; 0 if unknown.
size_t clinux_resident_file_bytes(void);
