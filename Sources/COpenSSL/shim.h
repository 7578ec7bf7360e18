// libcrypto: AES-256-CBC and HMAC-SHA-224, the two primitives of an encrypted Realm file.
#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

// Makes libcrypto allocate with these functions from now on. Returns 0 if it has already allocated, or if another part
// of the program has set functions.
static inline int realmfs_allocate_by(
    void *(*allocate)(size_t, const char *, int), void *(*resize)(void *, size_t, const char *, int),
    void (*release)(void *, const char *, int)) {
  CRYPTO_malloc_fn present = NULL;
  CRYPTO_get_mem_functions(&present, NULL, NULL);
  return present == CRYPTO_malloc && CRYPTO_set_mem_functions(allocate, resize, release) == 1;
}

// HMAC-SHA-224 with a 32-byte key: the part that depends only on the key is computed once. The functions that take a
// context by address do no lookups and no allocations, unlike those that OpenSSL 3 recommends.
static inline void realmfs_hmac_prepare(const unsigned char key[32], SHA256_CTX *inner, SHA256_CTX *outer) {
  unsigned char block[64];
  for (int i = 0; i < 64; i++) block[i] = (unsigned char)((i < 32 ? key[i] : 0) ^ 0x36);
  SHA224_Init(inner);
  SHA224_Update(inner, block, sizeof block);
  for (int i = 0; i < 64; i++) block[i] ^= 0x36 ^ 0x5c;
  SHA224_Init(outer);
  SHA224_Update(outer, block, sizeof block);
  OPENSSL_cleanse(block, sizeof block);
}

static inline void realmfs_hmac(
    const SHA256_CTX *inner, const SHA256_CTX *outer, const void *data, size_t count, unsigned char mac[28]) {
  SHA256_CTX context = *inner;
  SHA224_Update(&context, data, count);
  SHA224_Final(mac, &context);
  context = *outer;
  SHA224_Update(&context, mac, 28);
  SHA224_Final(mac, &context);
}
