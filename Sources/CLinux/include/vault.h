// Memory for data that libcrypto derives from keys, such as the round keys of AES: locked, excluded from core dumps,
// and wiped when freed.
#pragma once
#include <stdbool.h>
#include <stddef.h>

/// Opens the vault. Until clinux_vault_close, libcrypto allocates memory for this thread in the vault. False if there
/// is not enough memory.
bool clinux_vault_open(void);
void clinux_vault_close(void);

/// The allocation functions of libcrypto (CRYPTO_set_mem_functions). Objects too large for a slot of the vault are
/// allocated on the heap; cipher contexts fit.
void *clinux_vault_malloc(size_t size, const char *file, int line);
void *clinux_vault_realloc(void *start, size_t size, const char *file, int line);
void clinux_vault_free(void *start, const char *file, int line);
