#!/usr/bin/env bash
# Sourced by the tests of files that change while they are replicated: a realm, its replica, and checks of both.
# shellcheck shell=bash disable=SC2034
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/postgres.bash"
check "a server starts" start_postgres

file=$scratch/app.realm
commit() { "$realmfs" set --quiet "$file" Person/4 age="$1"; }
forget() { sql 'DROP SCHEMA IF EXISTS realm CASCADE' 2>/dev/null; }
once() { "$realmfs" replicate --once "$@" "$file" "$database"; }
same() { "$realmfs" verify-replica "$@" "$file" "$database"; }

quietly() { "$@" >/dev/null; }
cp "$fixtures/people.realm" "$scratch/people.realm" && chmod 644 "$scratch/people.realm"
for age in 31 32 33; do "$realmfs" set --quiet "$scratch/people.realm" Person/4 age=$age; done

# begin: a realm with some commits, and its replica.
begin() {
  forget
  rm -rf "$file"*
  cp "$scratch/people.realm" "$file"
  once --quiet
}
# The content of the replica: rows and version.
content() {
  sql "SELECT (SELECT md5(string_agg(p::text, '|' ORDER BY _id)) FROM realm.\"Person\" p) || (SELECT count(*) FROM realm.\"Dog\")
    || (SELECT version FROM realm._realmfs)" 2>&1
}
# stops WHAT STATUS PATTERN: the command ends with STATUS, and the replica is unchanged; with --accept-replacement it
# continues, unless the file cannot be read.
stops() {
  local before
  before=$(content)
  check_status "$1: stops" "$2" "$3" once
  equal "$1: nothing is lost" "$before" "$(content)"
  if [ "${4:-}" = follows ]; then
    check "$1: --accept-replacement goes on" once --quiet --accept-replacement
    check "$1: with what the file holds" same
    check "$1: and so does the next pass" once --quiet
  fi
}
# follows WHAT: the command continues without an option.
follows() {
  local what=$1
  shift
  check "$what: goes on" once --quiet "$@"
  check "$what: with what the file holds" same "$@"
}
# Another realm of the same app, with other people, and more commits.
"$realmfs" schema "$fixtures/people.realm" >"$scratch/schema.json"
"$realmfs" create --schema "$scratch/schema.json" "$scratch/another.realm" >/dev/null
seq 100 112 | sed 's/.*/{"_id": &, "name": "n&"}/' >"$scratch/people.jsonl"
seq 100 112 | sed 's/.*/{"name": "d&"}/' >"$scratch/dogs.jsonl"
"$realmfs" import --quiet --class Person "$scratch/another.realm" "$scratch/people.jsonl"
"$realmfs" import --quiet --class Dog "$scratch/another.realm" "$scratch/dogs.jsonl"
for age in 1 2 3 4 5 6 7 8; do "$realmfs" set --quiet "$scratch/another.realm" Person/100 age=$age; done
other() { cp "$scratch/another.realm" "$scratch/other.realm" && chmod 644 "$scratch/other.realm"; }
