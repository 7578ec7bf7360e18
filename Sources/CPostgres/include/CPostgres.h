// libpq, PostgreSQL's client library, for replicas. The library is loaded when it is first needed: it brings Kerberos
// and LDAP with it, and loading all of that takes longer than most commands run.
#pragma once

#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

// Loads libpq, once. Returns NULL, or the reason why it cannot be loaded. No function of libpq may be called before
// this has returned NULL. Safe to call from any thread.
const char *cpostgres_load(void);
