// libpq, PostgreSQL's client library, for replicas.
#pragma once

#include <libpq-fe.h>
