// libcrypto: AES-256-CBC and HMAC-SHA-224, the two primitives of an encrypted Realm file.
#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
