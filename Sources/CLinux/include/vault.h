// Memory for what libcrypto derives from keys, such as the round keys of AES: locked, left out of core dumps, and wiped
// when it is freed.
#pragma once
#include <stdbool.h>
#include <stddef.h>

/// While it is open, what this thread has libcrypto allocate is in the vault. False if there is no memory for one.
bool clinux_vault_open(void);
void clinux_vault_close(void);

/// How libcrypto allocates (CRYPTO_set_mem_functions). What is too large for a slot of the vault is allocated as usual;
/// the contexts of ciphers are not.
void *clinux_vault_malloc(size_t size, const char *file, int line);
void *clinux_vault_realloc(void *start, size_t size, const char *file, int line);
void clinux_vault_free(void *start, const char *file, int line);
