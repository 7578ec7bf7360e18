// libssl: encrypted connections to sync servers. OpenSSL macros as functions, which Swift can import.
#pragma once
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// Requires the server's certificate to be for `host`, an IP address if `is_address`. Returns 1 on success.
static inline int realmfs_tls_expect(SSL *ssl, const char *host, int is_address) {
  SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
  if (is_address) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

static inline void realmfs_tls_require(SSL_CTX *context) { SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION); }
