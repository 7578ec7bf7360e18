// libsqlite3, for exports into a SQLite database.
#pragma once

#include <sqlite3.h>
