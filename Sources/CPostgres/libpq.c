// The functions of libpq that this program calls, each of which forwards the call to the loaded library.

#include "CPostgres.h"

#include <loading.h>

// FORWARD(RESULT, NAME, (PARAMETERS), ARGUMENTS...)
#define FUNCTIONS(FORWARD)                                                                                             \
  FORWARD(int, PQbackendPID, (const PGconn *a), a)                                                                     \
  FORWARD(void, PQclear, (PGresult * a), a)                                                                            \
  FORWARD(char *, PQcmdStatus, (PGresult * a), a)                                                                      \
  FORWARD(PostgresPollingStatusType, PQconnectPoll, (PGconn * a), a)                                                   \
  FORWARD(PGconn *, PQconnectStartParams, (const char *const *a, const char *const *b, int c), a, b, c)                \
  FORWARD(void, PQconninfoFree, (PQconninfoOption * a), a)                                                             \
  FORWARD(PQconninfoOption *, PQconninfoParse, (const char *a, char **b), a, b)                                        \
  FORWARD(int, PQconsumeInput, (PGconn * a), a)                                                                        \
  FORWARD(int, PQenterPipelineMode, (PGconn * a), a)                                                                   \
  FORWARD(char *, PQerrorMessage, (const PGconn *a), a)                                                                \
  FORWARD(int, PQexitPipelineMode, (PGconn * a), a)                                                                    \
  FORWARD(void, PQfinish, (PGconn * a), a)                                                                             \
  FORWARD(int, PQflush, (PGconn * a), a)                                                                               \
  FORWARD(void, PQfreemem, (void *a), a)                                                                               \
  FORWARD(PGresult *, PQgetResult, (PGconn * a), a)                                                                    \
  FORWARD(int, PQgetisnull, (const PGresult *a, int b, int c), a, b, c)                                                \
  FORWARD(int, PQgetlength, (const PGresult *a, int b, int c), a, b, c)                                                \
  FORWARD(char *, PQgetvalue, (const PGresult *a, int b, int c), a, b, c)                                              \
  FORWARD(int, PQisBusy, (PGconn * a), a)                                                                              \
  FORWARD(int, PQntuples, (const PGresult *a), a)                                                                      \
  FORWARD(const char *, PQparameterStatus, (const PGconn *a, const char *b), a, b)                                     \
  FORWARD(int, PQpipelineSync, (PGconn * a), a)                                                                        \
  FORWARD(int, PQputCopyData, (PGconn * a, const char *b, int c), a, b, c)                                             \
  FORWARD(int, PQputCopyEnd, (PGconn * a, const char *b), a, b)                                                        \
  FORWARD(char *, PQresultErrorField, (const PGresult *a, int b), a, b)                                                \
  FORWARD(char *, PQresultErrorMessage, (const PGresult *a), a)                                                        \
  FORWARD(ExecStatusType, PQresultStatus, (const PGresult *a), a)                                                      \
  FORWARD(int, PQsendPrepare, (PGconn * a, const char *b, const char *c, int d, const Oid *e), a, b, c, d, e)          \
  FORWARD(int, PQsendQuery, (PGconn * a, const char *b), a, b)                                                         \
  FORWARD(int, PQsendQueryParams,                                                                                      \
          (PGconn * a, const char *b, int c, const Oid *d, const char *const *e, const int *f, const int *g, int h),   \
          a, b, c, d, e, f, g, h)                                                                                      \
  FORWARD(int, PQsendQueryPrepared,                                                                                    \
          (PGconn * a, const char *b, int c, const char *const *d, const int *e, const int *f, int g), a, b, c, d, e,  \
          f, g)                                                                                                        \
  FORWARD(int, PQserverVersion, (const PGconn *a), a)                                                                  \
  FORWARD(PQnoticeReceiver, PQsetNoticeReceiver, (PGconn * a, PQnoticeReceiver b, void *c), a, b, c)                   \
  FORWARD(int, PQsetSingleRowMode, (PGconn * a), a)                                                                    \
  FORWARD(int, PQsetnonblocking, (PGconn * a, int b), a, b)                                                            \
  FORWARD(int, PQsocket, (const PGconn *a), a)                                                                         \
  FORWARD(ConnStatusType, PQstatus, (const PGconn *a), a)

// libpq has had this name since PostgreSQL 8.0.
#define SONAME "libpq.so.5"
#define OTHERS(FIND)
LOADED_LIBRARY(cpostgres_load, FUNCTIONS, OTHERS)
