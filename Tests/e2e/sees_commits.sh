#!/usr/bin/env bash
# Commits by another program are visible at the next access: values, sizes, new and deleted objects; so is a file that
# replaces the realm. Open handles and directory streams stay usable.
source "$(dirname "$0")/lib.sh"

point=$(new_directory mnt)
peer=$shared/tools/realmpeer.py
key_of() { python3 -c 'import os, sys; print(os.getxattr(sys.argv[1], "user.realm.key").decode())' "$1"; }

# commit FILE CLASS NAME KEY PROPERTY VALUE COUNT: commits VALUE, VALUE + 1, ... by the program under test.
commit() {
  local value
  for value in $(seq "$6" $(($6 + $7 - 1))); do "$realmfs" set --quiet "$1" "$2/$3" "$5=$value" || return; done
}
# The same by another implementation.
peer_commit() { python3 "$peer" set "$1" "$2" "$4" "$5" "$6" --count "$7"; }

# shows_commits COMMIT MANY: the commits of COMMIT are visible; MANY of them are made during reads.
shows_commits() {
  local commit=$1 many=$2
  file=$(copy_fixture people)
  serve "$file" "$point" --immutable || exit 0
  object=$point/Person/4.json
  key=$(key_of "$object")
  # stat may be late by the 20 ms between two checks for a new version.
  has_size() { [ "$(stat -c %s "$object")" = "$1" ]; }
  is_newer_than() { [ "$(stat -c %Y "$object")" -gt "$1" ]; }
  set_age() { "$commit" "$file" Person 4 "$key" age "$1" "${2:-1}" >"$scratch/peer.log" 2>&1; }

  version=$(cat "$point/.realm/version")
  check "another program commits" set_age 77
  equal "the next read shows the new value" "77" "$(jq .age "$object")"
  equal "the version has grown by 1" "$((version + 1))" "$(cat "$point/.realm/version")"
  size=$(stat -c %s "$object")
  set_age 1234567890
  equal "a longer text: the value" "1234567890" "$(jq .age "$object")"
  check "a longer text: st_size" wait_until 2 has_size "$((size + 8))"
  equal "a longer text: the bytes" "$((size + 8))" "$(wc -c <"$object")"
  set_age 5
  check "a shorter text: st_size" wait_until 2 has_size "$((size - 1))"
  equal "a shorter text: the bytes" "$((size - 1))" "$(wc -c < <(cat "$object"))"
  equal "other objects stay" "Person 2" "$(jq -r .name "$point/Person/11.json")"
  before=$(stat -c %Y "$object")
  sleep 1.1
  set_age 6
  check "st_mtime follows the commit" wait_until 2 is_newer_than "$before"

  exec 8<"$object"
  set_age 123456
  equal "an open handle keeps the text that it was opened with" "6" "$(jq .age <&8)"
  equal "a new handle has the new one" "123456" "$(jq .age "$object")"
  exec 8<&-

  # Commits during reads: each text is complete, and the last value is visible at the end.
  set_age 1000000 "$many" &
  writer=$!
  background+=("$writer")
  reads=0 broken=0
  while kill -0 $writer 2>/dev/null; do
    reads=$((reads + 1))
    jq -e '.age >= 123456' "$object" >/dev/null 2>>"$scratch/broken" || broken=$((broken + 1))
    [ "$(ls "$point/Person" | wc -l)" -eq 19 ] || broken=$((broken + 1))
  done
  wait $writer
  equal "$many commits while reading ($reads rounds): every text and listing is whole" "0 " \
    "$broken $(head -c 300 "$scratch/broken")"
  equal "after the last commit its value shows" "$((1000000 + many - 1))" "$(jq .age "$object")"
  equal "cat without a mount shows it as well" "$((1000000 + many - 1))" "$("$realmfs" cat "$file" Person/4.json | jq .age)"
  check "the file is sound" "$realmfs" check "$file"
  stop_server "$point"
}
shows_commits commit 100
if [ -e "$peer" ]; then
  shows_commits peer_commit 300
else
  skip "../shared/tools/realmpeer.py is absent: commits of another implementation were not tested"
fi

# New, deleted and changed objects, by replacing the file: the whole tree changes at once.
file=$scratch/changing.realm
cp "$fixtures/primary-keys.realm" "$file"
serve "$file" "$point" --immutable || exit 0
ls -R "$point" >/dev/null
cat >"$scratch/stream.py" <<'PYTHON'
"""Lists a directory with pauses: reads a few names, waits for a line on standard input, reads the rest."""
import errno, os, sys
stream = os.scandir(sys.argv[1])
names = [next(stream).name for _ in range(3)]
print("begun", flush=True)
sys.stdin.readline()
try:
    names += [entry.name for entry in stream]
    print(len(names), len(set(names)), flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
PYTHON
class=$(cd "$point" && for name in *; do echo "$(ls "$name" | wc -l) $name"; done | sort -rn | head -1 | cut -d' ' -f2)
coproc python3 "$scratch/stream.py" "$point/$class"
read -r -u "${COPROC[0]}" begun
cp "$fixtures/people.realm" "$scratch/next.realm" && mv "$scratch/next.realm" "$file"
equal "a file put in its place shows at once" "Dog Person" "$(ls "$point" | paste -sd" ")"
equal "its objects too" "Person 1" "$(jq -r .name "$point/Person/4.json")"
check_status "what is no longer there is gone" 2 'No such file' ls "$point/$class"
echo >&"${COPROC[1]}"
read -r -t 10 -u "${COPROC[0]}" listed
equal "a directory stream of what is gone says so" "begun ESTALE" "$begun $listed"
stop_server "$point"

# A directory stream across versions of one realm neither loses an object nor lists one twice.
file=$(copy_fixture items-10k)
serve "$file" "$point" --immutable || exit 0
classes=$(for class in "$point"/*/; do echo "$(ls -U "$class" | wc -l) $class"; done | sort -rn | head -1)
class=${classes#* } count=${classes%% *}
coproc python3 "$scratch/stream.py" "$class"
read -r -u "${COPROC[0]}" begun
committed=0
for property in $("$realmfs" schema "$file" | jq -r --arg class "$(basename "$class")" \
  '.schema[] | select(.name == $class) | .primaryKey as $key | .properties | to_entries[]
   | select(.value.type == "int" and (.value.indexed | not) and .key != $key) | .key'); do
  object=$(find "$class" -type f | head -1)
  commit "$file" "$(basename "$class")" "$(basename "$object" .json)" "" "$property" 5 20 >/dev/null 2>&1 &&
    committed=20 && break
done
echo >&"${COPROC[1]}"
read -r -u "${COPROC[0]}" listed
if [ $committed -gt 0 ]; then
  equal "a directory stream over $committed commits lists all objects once" "$count $count" "$listed"
else
  not_ok "no commit was made while the stream was open"
fi
stop_server "$point"
