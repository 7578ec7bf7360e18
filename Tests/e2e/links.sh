#!/usr/bin/env bash
# Several names of one realm file: symbolic links, which Realm's engine locks by the given name, and hard links. The second
# program coordinates with the first, waits, or is refused; no save and no import is lost.
source "$(dirname "$0")/lib.sh"

point=$(new_directory mnt)
folder=$(new_directory folder)
real=$folder/real.realm
link=$folder/link.realm
start_over() {
  rm -rf "${folder:?}"/*
  cp "$fixtures/people.realm" "$real"
  ln -s real.realm "$link"
}
# True if a program has the realm open by this name.
is_locked() { grep -q ":$(stat -c %i "$1.lock" 2>/dev/null || echo none) " /proc/locks; }
is_free() { ! is_locked "$1"; }
age() { "$realmfs" cat "$1" Person/4.json | jq .age; }

# ---- symbolic links ----

start_over
check "a mount through a symbolic link" "$realmfs" mount "$link" "$point"
check "locks beside the link, as Realm's engine does" is_locked "$link"
equal "and makes nothing beside the file" "" "$(find "$folder" -name 'real.realm.*')"
check "it saves" bash -c 'echo "{\"age\": 50}" >"$1/Person/4.json"' - "$point"
equal "to the file" 50 "$(age "$real")"
key=$(getfattr --absolute-names --only-values -n user.realm.key "$point/Person/4.json")
check_status "compacting the file by its own name is refused meanwhile" 8 'another name' "$realmfs" compact "$real"
check_status "and by the link" 8 'in use' "$realmfs" compact "$link"
check "umount" "$realmfs" umount --discard "$point"
check "the lock is free" wait_until 10 is_free "$link"
check "compact through the link" "$realmfs" compact "$link"
check "the link stays" test -L "$link"
equal "the file is the compacted one" 50 "$(age "$real")"

peer=$shared/tools/realmpeer.py
if [ -f "$peer" ]; then
  # hold FILE: another program that has the realm open by this name.
  hold() {
    rm -f "$scratch/held"
    python3 "$peer" hold "$1" --seconds 300 >"$scratch/held" 2>&1 &
    holder=$!
    background+=("$holder")
    wait_until 20 is_locked "$1" || not_ok "no holder of $1: $(cat "$scratch/held")"
  }
  let_go() { kill -INT "$holder" 2>/dev/null; wait "$holder" 2>/dev/null; }
  commit() { python3 "$peer" set "$1" Person "$2" age "$3" >"$scratch/set" 2>&1; }

  start_over
  hold "$real"
  check "a mount through a link, while a program has the file itself open" "$realmfs" mount "$link" "$point"
  check "uses the lock file of that program" test ! -e "$link.lock"
  echo '{"age": 51}' >"$point/Person/4.json"
  for age in 52 53 54; do
    commit "$real" "$key" $age || not_ok "commit: $(cat "$scratch/set")"
    equal "the mount shows a commit of the other program" $age "$(jq .age "$point/Person/4.json")"
    echo "{\"name\": \"N$age\"}" >"$point/Person/11.json"
  done
  check "umount" "$realmfs" umount --discard "$point"
  let_go
  equal "nothing is lost" '54 "N54"' "$(age "$real") $("$realmfs" cat "$real" Person/11.json | jq .name)"
  check "and the file is sound" "$realmfs" check "$real"

  start_over
  hold "$link"
  check "a mount through the link, while a program has it open by the link" "$realmfs" mount "$link" "$point"
  check "uses the lock file beside the link" test ! -e "$real.lock"
  commit "$link" "$key" 55 && equal "both see each other" 55 "$(jq .age "$point/Person/4.json")"
  first=$holder
  hold "$real"
  check_status "when a program opens the file itself, saves are refused, and the shell sees it" 1 'write error' \
    bash -c 'echo "{\"age\": 99}" >"$1/Person/4.json"' - "$point"
  check "with the reason" grep -q 'open under two names' "$point/.realm/errors"
  equal "and their text is kept" '{"age": 99}' "$(cat "$point/.realm/rejected/Person/4.json")"
  check "umount" "$realmfs" umount --discard "$point"
  check_status "a mount is refused while programs use both names" 8 'open under two names' "$realmfs" mount "$link" "$point"
  check_status "an import too" 8 'open under two names' "$realmfs" import --class Person --format jsonl "$link" /dev/null
  check_status "and a compaction" 8 'in use' "$realmfs" compact "$link"
  check "reading goes on" "$realmfs" cat "$link" Person/4.json
  let_go
  kill -INT "$first" && wait "$first" 2>/dev/null
  check "afterwards it works" "$realmfs" mount "$link" "$point"
  check "umount" "$realmfs" umount --discard "$point"
else
  skip "no other program: programs that use both names were not tried"
fi

# ---- hard links ----

start_over
rm "$link"
ln "$real" "$link"
check_status "mounting a file with two names warns" 0 'has 2 names \(hard links\)' "$realmfs" mount "$real" "$point"
echo '{"age": 60}' >"$point/Person/4.json"
check "the other name can be read" "$realmfs" cat "$link" Person/4.json
second=$(new_directory second)
check_status "but not mounted for writing, while the first is in use" 8 'in use under another name' \
  bash -c 'while sleep 0.3; do cat "$3/Person/4.json" >/dev/null; done & trap "kill $!" EXIT; "$1" mount "$2" "$4"' \
  - "$realmfs" "$link" "$point" "$second"
check "read-only it is" "$realmfs" mount --read-only "$link" "$second"
equal "and shows the same" 60 "$(jq .age "$second/Person/4.json")"
check "umount" "$realmfs" umount --discard "$second"
check "umount" "$realmfs" umount --discard "$point"

# While a mount is idle, other programs can use the other name. A save through the mount then fails, and a shell reports it.
"$realmfs" mount -o lock_timeout=0.5 "$real" "$point" 2>/dev/null || not_ok "mount"
check "a mount that is idle lets go" wait_until 30 flock -n -x "$real.lock" true
if "$realmfs" mount "$link" "$second" 2>/dev/null; then
  check_status "write reports that the realm is in use under another name" 1 'write error' \
    bash -c 'while sleep 0.1; do cat "$2" >/dev/null; done & trap "kill $!" EXIT; cat "$2" >/dev/null; echo "{\"age\": 61}" >"$1"' \
    - "$point/Person/4.json" "$second/Person/4.json"
  check "with the reason" grep -q 'in use under another name' "$point/.realm/errors"
  check "umount" "$realmfs" umount --discard "$second"
else
  not_ok "the other name cannot be mounted"
fi
check "then it can be saved" bash -c 'echo "{\"age\": 62}" >"$1"' - "$point/Person/4.json"
check "umount" "$realmfs" umount --discard "$point"

# Ten imports by each of two names, concurrently.
start_over
rm "$link"
ln "$real" "$link"
imports() {
  local name=$1 number=$2 i
  for i in $(seq 10); do
    number=$((number + 1))
    if echo "{\"_id\": $number, \"name\": \"$name\"}" | "$realmfs" import --class Person "$folder/$name.realm" - \
      >/dev/null 2>>"$scratch/$name.errors"; then
      echo $number.json >>"$scratch/done"
    elif ! grep -q 'in use' "$scratch/$name.errors"; then
      echo "failed: $(tail -1 "$scratch/$name.errors")" >>"$scratch/done"
    fi
  done
}
: >"$scratch/done"
imports real 1000 &
first=$!
imports link 2000 &
wait $first $!
equal "every import by either name that ended well is there" "" \
  "$("$realmfs" cat "$real" Person | jq -r '"\(._id).json"' | sort | comm -13 - <(sort "$scratch/done"))"
check "there were some" test "$(wc -l <"$scratch/done")" -ge 10
check "and the file is sound" "$realmfs" check "$real"
