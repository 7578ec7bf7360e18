#!/usr/bin/env bash
# The configuration, option by option: which realm is mounted, how it is changed first, and which options contradict.
source "$(dirname "$0")/lib.sh"

point=$(new_directory mnt)
other=$(new_directory mnt2)
export XDG_DATA_HOME=$scratch/data

mounted() { "$realmfs" mount "$@" 2>"$scratch/error" || { cat "$scratch/error" && return 1; }; }
unmounted() { "$realmfs" umount "$1"; }
# Waits until no program has the realm open.
released() { wait_until 10 is_free "$1"; }
is_free() { ! grep -q ":$(stat -c %i "$1.lock") " /proc/locks; }

cat >"$scratch/people.json" <<'JSON'
{"schemaVersion": 1, "schema": [{"name": "Person", "primaryKey": "_id", "properties":
  {"_id": "int", "name": "string", "age": "int?"}}]}
JSON
cat >"$scratch/more.json" <<'JSON'
{"schemaVersion": 1, "schema": [{"name": "Person", "primaryKey": "_id", "properties":
  {"_id": "int", "name": "string", "age": "int?", "city": "string?"}}]}
JSON
cat >"$scratch/lossy.json" <<'JSON'
{"schemaVersion": 2, "schema": [{"name": "Person", "primaryKey": "_id", "properties":
  {"_id": "int", "first": "string", "last": "string", "age": "int?"}}]}
JSON

# ---- --default ----

check "--default makes the default realm" mounted --default --schema "$scratch/people.json" "$point"
check "in XDG_DATA_HOME" test -f "$XDG_DATA_HOME/realmfs/default.realm"
equal "in a folder for this user alone" 700 "$(stat -c %a "$XDG_DATA_HOME/realmfs")"
echo '{"name": "Ada"}' >"$point/Person/1.json"
check "umount" unmounted "$point"
check "--default mounts it again" mounted --default "$point"
equal "with what was in it" Ada "$(jq -r .name "$point/Person/1.json")"
check "umount" unmounted "$point"
unset XDG_DATA_HOME
check "without XDG_DATA_HOME" env HOME="$scratch/home" "$realmfs" mount --default "$point"
check "it is in ~/.local/share" test -f "$scratch/home/.local/share/realmfs/default.realm"
check "umount" unmounted "$point"
check_status "--default with FILE" 2 "unexpected argument" "$realmfs" mount --default "$scratch/x.realm" "$point"
check_status "--default with --in-memory" 2 "exclude each other" "$realmfs" mount --default --in-memory x "$point"
check_status "no FILE" 2 "MOUNTPOINT is missing" "$realmfs" mount "$point"

# ---- --in-memory ----

file=$fixtures/people.realm
id="test-$$-ä/b"
folder=/dev/shm/realmfs-$(id -u)
is_gone() { [ -z "$(find "$folder" -maxdepth 1 -name "test-$$-*" 2>/dev/null)" ]; }
# All files that are created or opened for writing, except in memory.
on_disk() {
  grep -hE 'O_CREAT|O_TMPFILE|O_WRONLY|O_RDWR|mkdir|mkfifo|mknod|link' "$scratch"/trace.* | grep -v ENOENT |
    grep -vE '"(/dev/(null|fuse|shm/realmfs-[0-9]*[/"])|/run/|/proc/)' | grep -vE '/dev/shm|readlink|unlink'
}
if strace -f -o /dev/null true 2>/dev/null; then
  mkdir "$scratch/empty" && cd "$scratch/empty" || exit 1
  strace -ff -y -o "$scratch/trace" -e trace=file "$realmfs" mount -f --in-memory "$id" --schema "$scratch/people.json" \
    "$point" 2>"$scratch/error" &
  tracer=$!
  background+=("$tracer")
  check "--in-memory mounts" wait_until 20 test -d "$point/Person"
  echo '{"name": "Ada", "age": 36}' >"$point/Person/1.json"
  head -c 3000000 /dev/zero | tr '\0' x | sed 's/.*/{"name": "&"}/' >"$point/Person/2.json"
  equal "nothing appears on disk" "" "$(on_disk | head -3)"
  equal "nor in the working directory" "" "$(ls -A)"
  cd - >/dev/null || exit 1
else
  skip "strace is not allowed here"
  check "--in-memory mounts" mounted --in-memory "$id" --schema "$scratch/people.json" "$point"
  echo '{"name": "Ada", "age": 36}' >"$point/Person/1.json"
fi
check "a second mount with this ID" mounted --in-memory "$id" "$other"
equal "sees what the first wrote" Ada "$(jq -r .name "$other/Person/1.json")"
echo '{"age": 37}' >"$other/Person/1.json"
equal "and the first sees what it writes" 37 "$(jq .age "$point/Person/1.json")"
check_status "it is not compacted" 1 "not supported" bash -c "echo 1 >'$point/.realm/compact'"
equal "and why" "has no file" "$(getfattr --only-values -n user.realmfs.error "$point/.realm/compact" 2>/dev/null | grep -o 'has no file')"
sleep 6
equal "an idle mount keeps it" 37 "$(jq .age "$point/Person/1.json")"
check "umount of the first" unmounted "$point"
# A process under strace ends slowly.
[ -z "${tracer:-}" ] || wait "$tracer"
equal "the second still has it" 37 "$(jq .age "$other/Person/1.json")"
check "umount of the second" unmounted "$other"
check "the memory is free then" wait_until 30 is_gone
check "--in-memory begins anew" mounted --in-memory "$id" --schema "$scratch/people.json" "$point"
equal "with nothing in it" "" "$(ls "$point/Person")"
echo '{"name": "left behind"}' >"$point/Person/9.json"
holder=$(awk -v inode=":$(stat -c %i "$folder"/test-$$-*.realm.lock) " 'index($0, inode) {print $5; exit}' /proc/locks)
kill -9 "$holder"
umount -l "$point"
check "after the death of the last, the next begins anew" mounted --in-memory "$id" "$point"
equal "with nothing at all" "" "$(ls "$point")"
check "umount" unmounted "$point"
check "and leaves nothing" wait_until 10 is_gone
for exclusion in "--seed $file" --immutable --upgrade "--compact-on-launch total>0" "--migrate true" \
  --delete-if-migration-needed "--key-file $key_file"; do
  # shellcheck disable=SC2086
  check_status "--in-memory with ${exclusion%% *}" 2 "exclude each other" \
    "$realmfs" mount --in-memory x --schema "$scratch/people.json" $exclusion "$point"
done
check_status "--in-memory with a name that is too long" 2 "1 to 200" \
  "$realmfs" mount -f --in-memory "$(printf %0201d 1)" "$point"
check_status "--in-memory --read-only needs somebody who has it" 3 "No such file" \
  "$realmfs" mount --read-only --in-memory nobody-has-this "$point"

# ---- --read-only, --immutable and options that change the realm ----

for reading in --read-only --immutable "-o ro"; do
  for changing in --upgrade "--compact-on-launch total>0" "--seed $file" "--schema $scratch/people.json" \
    "--max-versions 5"; do
    # shellcheck disable=SC2086
    check_status "$reading with ${changing%% *}" 2 "changes the realm" "$realmfs" mount $reading $changing "$file" "$point"
  done
done
check_status "--read-only with --immutable" 2 "exclude each other" \
  "$realmfs" mount --read-only --immutable "$file" "$point"
check_status "two sources of the key" 2 "exclude each other" \
  "$realmfs" mount --key-file x --key-env Y "$file" "$point"

# ---- --seed ----

seeded=$scratch/seeded.realm
chmod 444 "$file"
check "--seed copies the seed if there is no file" mounted --seed "$file" "$seeded" "$point"
check "and says so" grep -q "copy of $file" "$scratch/error"
equal "with its objects" "$("$realmfs" cat "$file" Person | sha256sum)" "$("$realmfs" cat "$seeded" Person | sha256sum)"
check "the copy can be written, though the seed cannot" rm "$point/Person/4.json"
check "umount" unmounted "$point"
check "the file is there" mounted --seed "$file" "$seeded" "$point"
check "so the seed is not copied again" test ! -e "$point/Person/4.json"
check "umount" unmounted "$point"
check "a seed with a key" mounted --seed "$fixtures/people-encrypted.realm" --key-file "$key_file" "$scratch/secret.realm" "$point"
check "umount" unmounted "$point"
check "is copied with this key" "$realmfs" cat --key-file "$key_file" "$scratch/secret.realm" Person
check_status "a seed that is not there" 3 "nowhere.realm" "$realmfs" mount --seed "$scratch/nowhere.realm" "$scratch/new.realm" "$point"
check "leaves nothing" test ! -e "$scratch/new.realm"
chmod 644 "$file"

# ---- --schema ----

made=$scratch/made.realm
check_status "without --schema a file must exist" 3 "No such file" "$realmfs" mount "$made" "$point"
check "--schema makes the file" mounted --schema "$scratch/people.json" "$made" "$point"
echo '{"name": "Ada Lovelace", "age": 36}' >"$point/Person/1.json"
check "umount" unmounted "$point"
check "--schema adds what is missing" mounted --schema "$scratch/more.json" -o create_classes "$made" "$point"
equal "a property" null "$(jq .city "$point/Person/1.json")"
mkdir "$point/Extra"
check "umount" unmounted "$point"
check "and leaves classes alone that it does not name" mounted --schema "$scratch/more.json" "$made" "$point"
check "such as this one" test -d "$point/Extra"
check "umount" unmounted "$point"
released "$made"
before=$(sha256sum <"$made")
check "what is there already" mounted --schema "$scratch/more.json" "$made" "$point"
check "umount" unmounted "$point"
released "$made"
equal "is no reason to write" "$before" "$(sha256sum <"$made")"
check_status "a loss without a greater version is refused" 1 "loses or converts" \
  "$realmfs" mount --schema "$scratch/people.json" "$made" "$point"
check_status "a loss with a greater version needs somebody who migrates" 1 "needs a migration.*Person.name.*--migrate" \
  "$realmfs" mount --schema "$scratch/lossy.json" "$made" "$point"
check_status "a schema that is none" 1 "line 1" "$realmfs" mount --schema <(echo '{"schema": 5}') "$made" "$point"
check_status "a schema file that is not there" 3 "No such file" "$realmfs" mount --schema "$scratch/none.json" "$made" "$point"
equal "after all that nothing was changed" "$before" "$(sha256sum <"$made")"

# ---- --migrate ----

check_status "--migrate without --schema" 2 "needs a schema" "$realmfs" mount --migrate true "$made" "$point"
check_status "--migrate with --delete-if-migration-needed" 2 "exclude each other" "$realmfs" mount \
  --schema "$scratch/lossy.json" --migrate true --delete-if-migration-needed "$made" "$point"
check_status "a command that fails" 1 "exit status 7, so nothing was changed" "$realmfs" mount \
  --schema "$scratch/lossy.json" --migrate 'rm "$REALMFS_NEW/Person/1.json"; exit 7' "$made" "$point"
equal "changes nothing" "$before" "$(sha256sum <"$made")"
chmod 777 "$scratch"
check_status "in a folder in which other users can rename things" 3 "other users could choose where files are written" \
  "$realmfs" mount --schema "$scratch/lossy.json" --migrate true "$made" "$point"
chmod 700 "$scratch"
equal "nothing is changed, either" "$before" "$(sha256sum <"$made")"
cp "$made" "$scratch/again.realm"
cat >"$scratch/split" <<'SH'
touch "$REALMFS_OLD/Person/1.json" 2>/dev/null && rm "$REALMFS_OLD/Person/1.json" && exit 3
for person in "$REALMFS_OLD"/Person/*.json; do
  jq '{first: (.name | split(" ")[0]), last: (.name | split(" ")[1])}' "$person" >"$REALMFS_NEW/Person/${person##*/}" ||
    exit 4
done
SH
check "--migrate" mounted --schema "$scratch/lossy.json" --migrate "sh '$scratch/split'" "$made" "$point"
equal "moves the data over" "Ada Lovelace 36" "$(jq -r '"\(.first) \(.last) \(.age)"' "$point/Person/1.json")"
equal "and sets the version" 2 "$(jq .schemaVersion "$point/.realm/schema.json")"
check "umount" unmounted "$point"
released "$made"
equal "nothing is left beside the realm" "made.realm made.realm.lock made.realm.management" \
  "$(cd "$scratch" && find . -maxdepth 1 \( -name 'made*' -o -name '.realmfs*' \) -printf '%f\n' | sort | paste -sd' ')"
check "check" "$realmfs" check "$made"
check "the same version again runs no command" mounted --schema "$scratch/lossy.json" --migrate 'exit 9' "$made" "$point"
check_status "a smaller version is refused" 1 "schema version 2, this schema has version 1" \
  "$realmfs" mount --schema "$scratch/people.json" "$made" "$other"
check_status "a realm that is open is not migrated" 8 "in use" "$realmfs" mount \
  --schema <(jq '.schemaVersion = 3' "$scratch/lossy.json") --migrate true "$made" "$other"
check "umount" unmounted "$point"
released "$made"
cp "$fixtures/people-encrypted.realm" "$scratch/secret.realm"
"$realmfs" schema --key-file "$key_file" "$scratch/secret.realm" | jq '.schemaVersion = 100' >"$scratch/secret.json"
check "an encrypted realm" mounted --schema "$scratch/secret.json" --key-file "$key_file" \
  --migrate 'cmp "$REALMFS_OLD/Person/4.json" "$REALMFS_NEW/Person/4.json"' "$scratch/secret.realm" "$point"
equal "is migrated under its key" 100 "$(jq .schemaVersion "$point/.realm/schema.json")"
check "umount" unmounted "$point"

# ---- --delete-if-migration-needed ----

again=$scratch/again.realm
check "--delete-if-migration-needed" mounted --schema "$scratch/lossy.json" --delete-if-migration-needed "$again" "$point"
equal "starts afresh" "Person:0" "$(for class in "$point"/*; do echo "${class##*/}:$(find "$class" -type f | wc -l)"; done)"
check "and says so" grep -q "was replaced by an empty realm" "$scratch/error"
echo '{"first": "Ada"}' >"$point/Person/1.json"
check "umount" unmounted "$point"
released "$again"
check "a realm that fits" mounted --schema "$scratch/lossy.json" --delete-if-migration-needed "$again" "$point"
check "is not deleted" test -f "$point/Person/1.json"
check_status "nor one that somebody has open" 8 "in use" "$realmfs" mount \
  --schema <(jq '.schemaVersion = 3' "$scratch/lossy.json") --delete-if-migration-needed "$again" "$other"
check "umount" unmounted "$point"
released "$again"

# ---- --max-versions ----

check_status "--max-versions 1" 2 "above 1" "$realmfs" mount --max-versions 1 "$again" "$point"
check "--max-versions" mounted --max-versions 3 "$again" "$point"
for age in 1 2 3 4 5 6 7 8 9; do echo "{\"age\": $age}" >"$point/Person/1.json" || not_ok "save $age"; done
equal "a mount alone does not reach the limit" 9 "$(jq .age "$point/Person/1.json")"
check "umount" unmounted "$point"

# ---- --fifo-dir ----

released "$again"
pipes=$(new_directory pipes)
check "--fifo-dir" mounted --fifo-dir "$pipes" "$again" "$point"
check "moves the pipe" test -p "$pipes"/realm_*.note
check "it is not beside the file" test ! -e "$again.note"
equal "it has the protection of the realm in its folder" "600 $(stat -c '%u %g' "$again")" "$(stat -c '%a %u %g' "$pipes"/realm_*.note)"
timeout 10 head -c 1 "$pipes"/realm_*.note >"$scratch/rung" &
listener=$!
# The listener waits in open until there is a writer.
listens() { [ "$(ps -o comm=,state= --ppid "$listener" | tr -s ' ')" = "head S" ]; }
wait_until 10 listens
echo '{"age": 50}' >"$point/Person/1.json"
wait $listener
equal "who listens there hears of a commit" 1 "$(stat -c %s "$scratch/rung")"
check "umount" unmounted "$point"
check_status "a folder that is not there" 3 "mkfifo" "$realmfs" mount --fifo-dir "$scratch/nowhere" "$again" "$point"

# ---- .realm/compact ----

released "$again"
grow() { for i in $(seq 2 40); do head -c 100000 /dev/zero | tr '\0' x | sed 's/.*/{"first": "&"}/' >"$point/Person/$i.json"; done; }
check "a mount" mounted "$again" "$point"
grow && rm "$point"/Person/{2..40}.json
large=$(stat -c %s "$again")
check "echo 1 >.realm/compact" bash -c "echo 1 >'$point/.realm/compact'"
check "makes the file smaller" test "$(stat -c %s "$again")" -lt $((large / 10))
equal "the mount goes on" 50 "$(jq .age "$point/Person/1.json")"
echo '{"age": 51}' >"$point/Person/1.json"
equal "and saves" 51 "$(jq .age "$point/Person/1.json")"
check_status "another text" 1 "Invalid argument" bash -c "echo 2 >'$point/.realm/compact'"
check "a second mount" mounted "$again" "$other"
check_status "while another program takes part" 1 "busy" bash -c "echo 1 >'$point/.realm/compact'"
check "the reason is an attribute" grep -q "another program has the realm open" \
  <(getfattr --only-values -n user.realmfs.error "$point/.realm/compact" 2>/dev/null)
check "and a line of .realm/errors" grep -q '"operation": "compact"' "$point/.realm/errors"
check "umount of the second" unmounted "$other"
check "then it works again" wait_until 10 bash -c "echo 1 >'$point/.realm/compact'"
check "umount" unmounted "$point"
released "$again"
check "check" "$realmfs" check "$again"
check "a read-only mount" mounted --read-only "$again" "$point"
check "has no such file" test ! -e "$point/.realm/compact"
check "umount" unmounted "$point"
