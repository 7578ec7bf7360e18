#!/usr/bin/env bash
# Sourced after lib.sh by tests of replicas: a PostgreSQL server in the scratch directory of the test, which is removed
# with it. PGHOST and the like make psql connect to it.
# shellcheck shell=bash

postgres_bin=$(find /usr/lib/postgresql/*/bin -maxdepth 0 2>/dev/null | sort -V | tail -1)
if [ -z "$postgres_bin" ]; then
  skip "PostgreSQL's server is not installed (postgresql)"
  exit 0
fi

# The server refuses to run as root.
as_postgres() { if [ "$(id -u)" -eq 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi; }

# start_postgres [SETTING]...: creates the server if necessary and starts it. Settings are options of postgres(1).
start_postgres() {
  if [ ! -d "$postgres_data" ]; then
    mkdir -p "$postgres" && chmod 755 "$scratch" && if [ "$(id -u)" -eq 0 ]; then chown postgres "$postgres"; fi
    as_postgres "$postgres_bin/initdb" -D "$postgres_data" -A trust -U postgres -E UTF8 --locale=C.UTF-8 --no-sync >/dev/null
  fi
  as_postgres "$postgres_bin/pg_ctl" -D "$postgres_data" -w -l "$postgres/log" \
    -o "-k $postgres -p $PGPORT -c listen_addresses=127.0.0.1 -c max_connections=40 $*" start >/dev/null </dev/null
}

stop_postgres() { as_postgres "$postgres_bin/pg_ctl" -D "$postgres_data" -m "${1:-immediate}" stop >/dev/null; }

postgres=$scratch/postgres
postgres_data=$postgres/data
PGHOST=$postgres PGUSER=postgres PGDATABASE=postgres
PGPORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export PGHOST PGUSER PGDATABASE PGPORT PGTZ=UTC
database="host=$postgres port=$PGPORT user=postgres dbname=postgres"
trap 'stop_postgres 2>/dev/null; clean_up' EXIT

# sql QUERY: prints its rows, fields separated by |.
sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }
