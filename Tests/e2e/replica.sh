#!/usr/bin/env bash
# realmfs replicate and verify-replica, on a separate PostgreSQL server. REPLICA_KILLS and REPLICA_COMMITS extend the test.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/postgres.bash"
check "a server starts" start_postgres

# ---- every fixture, read back by SQL ----

drop() { sql 'DROP SCHEMA IF EXISTS realm CASCADE' 2>/dev/null; }
differences=0 values=0
names="all-types embedded nested people-encrypted primary-keys rare-states strings unresolved-links
  old/v2-core-0.89.9-encrypted old/v9-core-5.23.9"
# All of them, including those beside the repository, take a minute.
if [ -n "${E2E_LONG:-}" ]; then names=$(cd "$fixtures" && find . -name '*.realm' -not -path './damaged/*' | sed 's/\.realm$//'); fi
for name in $names; do
  file=$fixtures/$name.realm
  key=()
  case $file in *encrypted*) key=(--key-file "$key_file") ;; esac
  drop
  if ! "$realmfs" replicate --once --quiet "${key[@]}" "$file" "$database" >"$scratch/log" 2>&1; then
    not_ok "$(basename "$file"): $(cat "$scratch/log")"
  fi
  report=$(python3 "$repository/Tests/e2e/replica.py" "$realmfs" "$file" realm "${key[@]}") || {
    not_ok "read back by SQL: $report"
    differences=$((differences + 1))
  }
  "$realmfs" verify-replica "${key[@]}" "$file" "$database" >"$scratch/log" 2>&1 || {
    not_ok "$(basename "$file"): verify-replica: $(cat "$scratch/log")"
  }
  found=${report##* rows, } && values=$((values + ${found%% values*}))
done
equal "fixtures read back by SQL: values that differ" 0 $differences
check "of $values values" [ "$values" -gt 20000 ]

# ---- following ----

drop
file=$(copy_fixture people)
"$realmfs" replicate "$file" "$database" >"$scratch/follow" 2>&1 &
follower=$!
background+=("$follower")
is_followed() { "$realmfs" verify-replica "$file" "$database"; }
check "the replica is filled" wait_until 20 is_followed
"$realmfs" set --quiet "$file" Person/4 age=77 'friends=[18,4,18]'
"$realmfs" insert --quiet "$file" Dog '{"name": "'"Robert'); DROP TABLE \\\"Dog\\\";--"'", "weight": 3}'
"$realmfs" delete --quiet --yes "$file" Person/11
check "it follows three commits" wait_until 20 is_followed
equal "links in order, the same one twice" "18|4|18" \
  "$(sql 'SELECT target FROM realm."Person_friends" WHERE owner = 4 ORDER BY position' | paste -sd'|')"
equal "an object's name is no SQL" 1 "$(sql "SELECT count(*) FROM realm.\"Dog\" WHERE name LIKE 'Robert%'")"

# Properties and a class are added.
"$realmfs" schema "$file" | jq '(.schema[] | select(.name == "Person").properties) +=
  {"nick": {"type": "string"}, "tags": {"type": "list", "objectType": "string"}}
  | .schema += [{"name": "Cat", "properties": {"owner": {"type": "object", "objectType": "Person", "optional": true}}}]' \
  >"$scratch/schema.json"
point=$(new_directory mnt)
serve "$file" "$point" && cp "$scratch/schema.json" "$point/.realm/schema.json"
stop_server "$point"
"$realmfs" insert --quiet "$file" Cat '{"owner": 4}'
check "a change of the schema is one of the tables" wait_until 20 is_followed
equal "with defaults of properties, as the realm has them" "|{}" "$(sql 'SELECT nick, tags FROM realm."Person" WHERE _id = 4')"
equal "and links of the new class" 4 "$(sql 'SELECT owner FROM realm."Cat"')"

# The server restarts while the realm changes.
stop_postgres immediate
for age in 1 2 3 4 5; do "$realmfs" set --quiet "$file" Person/18 age=$age; done
start_postgres
check "after a crash of the server it goes on" wait_until 30 is_followed

# Another file replaces the realm.
cp "$fixtures/people.realm" "$scratch/other.realm" && chmod 644 "$scratch/other.realm"
"$realmfs" set --quiet "$scratch/other.realm" Person/4 age=1
mv "$scratch/other.realm" "$file"
check "a file that takes the realm's place is not followed" wait_until 30 is_dead "$follower"
check "and the reason names the option that does" grep -q -e --accept-replacement "$scratch/follow"
"$realmfs" replicate --accept-replacement "$file" "$database" >"$scratch/follow" 2>&1 &
follower=$!
background+=("$follower")
check "with it, the file is compared" wait_until 30 is_followed
"$realmfs" compact "$file" >/dev/null 2>&1
"$realmfs" set --quiet "$file" Person/4 age=2
check "so is one that was compacted" wait_until 30 is_followed
kill -TERM $follower
wait $follower
equal "SIGTERM ends it as done" 0 $?

sql 'UPDATE realm."Person" SET age = 5 WHERE _id = 4'
check_status "a row that another program changed shows" 1 'Person .*different' "$realmfs" verify-replica "$file" "$database"
"$realmfs" set --quiet "$file" Person/18 age=6
check "the next comparison mends it" "$realmfs" replicate --once "$file" "$database"
check "both are the same again" is_followed
sql 'DELETE FROM realm._realmfs'
check "without its state it is compared" "$realmfs" replicate --once "$file" "$database"
check_status "and finds nothing to write" 0 ': 0 rows written|^$' "$realmfs" replicate --once "$file" "$database"

# ---- kills ----

drop
cp "$fixtures/people.realm" "$scratch/killed.realm" && chmod 644 "$scratch/killed.realm"
"$realmfs" replicate --once --quiet "$scratch/killed.realm" "$database"
sql 'CREATE TABLE seen (id bigint, age bigint, n bigserial);
  CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO seen VALUES (NEW._id, NEW.age); RETURN NULL; END $$;
  CREATE TRIGGER note AFTER INSERT OR UPDATE ON realm."Person" FOR EACH ROW EXECUTE FUNCTION note()'
export -f start_postgres stop_postgres as_postgres
export postgres_bin postgres postgres_data
commits=${REPLICA_COMMITS:-150}
# shellcheck disable=SC2016
writer='for age in $(seq 1 "$3"); do "$0" set --quiet "$1" "Person/$2" age="$age" || exit; done'
kills=$(KILL_PAUSE=0.8 REPLICA_LOG=$scratch/kills.log python3 "$repository/Tests/e2e/replica_kills.py" \
  "${REPLICA_KILLS:-8}" "host=127.0.0.1 user=postgres dbname=postgres" "$PGPORT" "stop_postgres; start_postgres" \
  "$realmfs" replicate "$scratch/killed.realm" \
  -- bash -c "$writer" "$realmfs" "$scratch/killed.realm" 4 "$commits" \
  -- bash -c "$writer" "$realmfs" "$scratch/killed.realm" 18 "$commits" 2>&1)
equal "kills of every kind, and writers and replica that end as they should: ${kills//$'\n'/; }" 0 $?
check "a last pass" "$realmfs" replicate --once --quiet "$scratch/killed.realm" "$database"
check "both are the same after them" "$realmfs" verify-replica "$scratch/killed.realm" "$database"
equal "no value came twice, or late" 0 "$(sql 'SELECT count(*) FROM seen a JOIN seen b USING (id) WHERE a.n < b.n AND a.age >= b.age')"

# ---- a full disk of the server ----

drop
disk=$(new_directory disk)
if mount -t tmpfs -o size=3m tmpfs "$disk" 2>/dev/null; then
  chown postgres "$disk"
  sql "CREATE TABLESPACE small LOCATION '$disk'"
  sql 'ALTER ROLE postgres SET default_tablespace = small'
  file=$(copy_fixture people)
  "$realmfs" replicate "$file" "$database" >"$scratch/full" 2>&1 &
  follower=$!
  background+=("$follower")
  check "a replica on a small disk" wait_until 30 is_followed
  head -c 4000000 /dev/zero >"$disk/filler" 2>/dev/null
  seq 100000 102999 | sed 's/.*/{"_id":&,"name":"a name that takes some room, &"}/' >"$scratch/people.jsonl"
  "$realmfs" import --quiet --class Person "$file" "$scratch/people.jsonl"
  check "what does not fit waits, and the cause is said" wait_until 30 grep -q 'No space left on device.*the replica waits' "$scratch/full"
  "$realmfs" set --quiet "$file" Person/4 age=78
  check_status "the replica is at the version before" 1 'let .realmfs replicate --once. bring it there' \
    "$realmfs" verify-replica "$file" "$database"
  rm "$disk/filler"
  check "with room again nothing is lost" wait_until 60 is_followed
  kill -TERM $follower
  wait $follower
  equal "SIGTERM ends it as done" 0 $?
  drop
  sql 'ALTER ROLE postgres RESET default_tablespace'
  sql 'DROP TABLESPACE small'
  umount "$disk"
else
  skip "a full disk needs root"
fi

# ---- roles ----

sql 'CREATE ROLE guest LOGIN'
check_status "a role without rights" 1 'permission denied.*docs/POSTGRESQL.md' \
  "$realmfs" replicate --once "$file" "${database/user=postgres/user=guest}"
sql 'CREATE SCHEMA realm AUTHORIZATION guest'
check "needs none but to its own schema" "$realmfs" replicate --once --quiet "$file" "${database/user=postgres/user=guest}"
sql 'ALTER ROLE guest SET default_transaction_read_only = on'
check "compares with no right to write" "$realmfs" verify-replica "$file" "${database/user=postgres/user=guest}"
"$realmfs" set --quiet "$file" Person/4 age=79
check_status "and says that a server is read-only" 1 'read-only.*a standby' \
  "$realmfs" replicate --once "$file" "${database/user=postgres/user=guest}"

# ---- many realms ----

drop
mkdir "$scratch/users"
for user in $(seq 12); do cp "$fixtures/people.realm" "$scratch/users/u$user.realm"; done
cp "$fixtures/people-encrypted.realm" "$scratch/users/secret.realm"
cp "$fixtures/strings.realm" "$scratch/users/o'\"; x.realm"
echo 'no realm' >"$scratch/users/bad.realm"
chmod 644 "$scratch/users"/*
many=(--source-of "$scratch/users/{id}.realm" --key-command "cat '$key_file'")
"$realmfs" replicate "${many[@]}" --partition hash:3 "$scratch/users/*.realm" "$database" >"$scratch/many" 2>&1 &
follower=$!
background+=("$follower")
are_followed() { [ "$("$realmfs" verify-replica "${many[@]}" "$scratch/users/*.realm" "$database" 2>/dev/null)" = "$1" ]; }
check "14 realms, one of them encrypted; a bad one does not stop them" wait_until 30 are_followed "15 realms, 0 different, 1 failed"
check "it is named" grep -q 'bad.realm: not a Realm file' "$scratch/many"
equal "in the database, too" failed "$(sql "SELECT state FROM realm._realmfs WHERE realm = 'bad'")"
"$realmfs" set --quiet "$scratch/users/u3.realm" Person/4 age=99
cp "$fixtures/people.realm" "$scratch/users/new.realm"
rm "$scratch/users/u5.realm"
check "one changes, one comes, one goes" wait_until 30 are_followed "15 realms, 0 different, 1 failed"
equal "each row has its realm" "u3|99" "$(sql 'SELECT realm, age FROM realm."Person" WHERE age = 99')"
is_gone() { [ "$(sql "SELECT state FROM realm._realmfs WHERE realm = 'u5'")" = gone ]; }
check "the one that went is said to be gone" wait_until 20 is_gone
equal "and its rows stay" 19 "$(sql "SELECT count(*) FROM realm.\"Person\" WHERE realm = 'u5'")"
kill -TERM $follower
wait $follower
equal "SIGTERM ends it as done" 0 $?

# ---- refusals ----

check_status "a password in the address is refused" 1 'visible to all users' \
  "$realmfs" replicate --once "$file" postgresql://me:secret@localhost/db
equal "and not printed" "" "$("$realmfs" replicate --once "$file" postgresql://me:secret@localhost/db 2>&1 | grep secret)"
sql 'CREATE DATABASE latin ENCODING latin1 TEMPLATE template0 LOCALE "C"'
check_status "a database of another encoding is refused" 1 'encoding LATIN1' \
  "$realmfs" replicate --once "$file" "${database/dbname=postgres/dbname=latin}"
check_status "a server that is not there ends the command" 1 'failed' \
  "$realmfs" replicate "$file" "host=$scratch port=1 dbname=x"
check_status "a realm that is not there, too" 3 'missing.realm' "$realmfs" replicate --once "$scratch/missing.realm" "$database"

# ---- a SQLite export ----

"$realmfs" export --quiet "$file" "$scratch/people.sqlite"
check "a SQLite export is the same" "$realmfs" verify-replica "$file" "$scratch/people.sqlite"
sqlite3 "$scratch/people.sqlite" 'UPDATE Person SET age = 1000 WHERE _id = 18'
check_status "until it is changed" 1 'Person .*different' "$realmfs" verify-replica "$file" "$scratch/people.sqlite"
