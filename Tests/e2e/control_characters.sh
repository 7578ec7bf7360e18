#!/usr/bin/env bash
# Names in a realm that contain control characters: messages, tables, logs and refusals escape them, data in a pipe
# contains them unchanged, and source code escapes them as its language does.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
# Control characters of 7 and 8 bits, line ends, text directions, and characters with a meaning in strings of some language.
python3 - <<'PY'
import json
name = "A\x1b]0;X\x07\u009b31m\u202e\n\u2028\x7fZ$x\"\\\x0c\u2066"
json.dump({"schemaVersion": 1, "schema": [
    {"name": name, "primaryKey": "_id", "properties": {
        "_id": {"type": "int"}, "p\x1b[2J\u0085": {"type": "string"}, "tags": {"type": "list", "objectType": "int"}}},
    {"name": "Plain", "primaryKey": "_id", "properties": {"_id": {"type": "string"}, "n": {"type": "int"}}}]},
    open("schema.json", "w"))
lines = [{"$class": name, "_id": 1, "p\x1b[2J\u0085": "v\x1b[31m\u009b\u202e"}, {"$class": "Plain", "_id": "\u009b\u202ek", "n": 1}]
open("lines.jsonl", "w").write("".join(json.dumps(line) + "\n" for line in lines))
PY
"$realmfs" create --schema schema.json names.realm && "$realmfs" import names.realm lines.jsonl || not_ok "a realm with such names"
class=$("$realmfs" schema names.realm | jq -r '.schema[0].name | @uri | gsub("%(?<h>..)"; "%\(.h)")')

# True if the input has only text, tabs and line feeds.
cat >plain.py <<'PY'
import sys
text = sys.stdin.buffer.read().decode("utf-8")
bad = sorted({hex(ord(c)) for c in text if (ord(c) < 32 and c not in "\n\t" + sys.argv[1]) or 0x7f <= ord(c) < 0xa0
              or c in "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"})
sys.exit(f"controls: {' '.join(bad)}" if bad else 0)
PY
# shows WHAT COMMAND...: the command prints something, and both outputs are plain.
shows() {
  local what=$1
  shift
  "$@" >shown 2>&1 </dev/null
  check "$what: something is shown" test -s shown
  check "$what: as plain text" python3 plain.py "" <shown
}
python3 plain.py "" <<<$'\x1b' 2>/dev/null && not_ok "the check finds nothing"

sed 's/"n":1/"n":2/' <("$realmfs" export names.realm) >other.jsonl
"$realmfs" create --schema schema.json other.realm && "$realmfs" import other.realm other.jsonl
"$realmfs" create empty.realm
# A node in the middle loses its header.
python3 - <<'PY'
data = bytearray(open("names.realm", "rb").read())
position = data.find(b"AAAA", 64) & ~7
data[position:position + 4] = b"\xff" * 4
open("cut.realm", "wb").write(data)
PY
for file in "$fixtures/damaged/escape-class.realm" names.realm cut.realm; do
  for command in info check "info --json" "check --json" "cat Absent" "export --class Absent" "query Absent x"; do
    # shellcheck disable=SC2086
    set -- $command
    name=$1
    shift
    shows "$(basename "$file"): $command" "$realmfs" "$name" "$file" "$@"
  done
  shows "$(basename "$file"): recover" "$realmfs" recover "$file" "recovered.$(basename "$file")"
  shows "$(basename "$file"): a class that is unknown to a mount" "$realmfs" mount -o class=Absent "$file" "$(new_directory absent)"
done
shows "diff" "$realmfs" diff names.realm other.realm
shows "diff of the schema" "$realmfs" diff names.realm empty.realm
shows "a file whose name has controls" "$realmfs" info $'a\x1b[2J\u009b.realm'
shows "an argument with controls" "$realmfs" mount -o $'x\x1b[2J' names.realm .
shows "a query with controls" "$realmfs" query names.realm Plain $'n == \x1b[2J'
shows "a bad record" "$realmfs" import names.realm <(printf '{"$class":"Plain","_id":"x","\\u001b[2J\\u009b":1}\n')

# The line that watch prints for a commit.
"$realmfs" watch other.realm >watched 2>&1 &
background+=($!)
number=3
watched() {
  number=$((number + 1))
  printf '{"$class":"Plain","_id":"w","n":%d}\n' $number | "$realmfs" import other.realm -
  "$realmfs" import other.realm <(sed "s/\"_id\":1/\"_id\":$number/" other.jsonl)
  [ -s watched ]
}
wait_until 10 watched || not_ok "watch printed nothing"
check "watch: as plain text" python3 plain.py "" <watched

# Data is exact in a pipe, and plain on a terminal.
equal "a pipe gets values as they are" $'v\x1b[31m\u009b\u202e' "$("$realmfs" export names.realm | jq -r 'select(._id == 1)[] | select(type == "string" and startswith("v"))')"
# With standard error elsewhere, because a progress line is erased by a control sequence.
terminal() {
  python3 -c 'import os, pty, sys
pty.spawn(["bash", "-c", "exec \"$@\" 2>/dev/null", "-"] + sys.argv[1:], lambda fd: os.read(fd, 65536))' "$@"
}
for format in jsonl csv; do
  terminal "$realmfs" export --class Plain --format $format names.realm >shown
  check "a terminal, $format: something is shown" grep -q 'k' shown
  check "a terminal, $format: as plain text" python3 plain.py $'\r' <shown
done
terminal "$realmfs" schema names.realm >shown
check "a terminal, schema: as plain text" python3 plain.py $'\r' <shown
equal "a terminal, schema: the same JSON" "$("$realmfs" schema names.realm | jq -cS .)" "$(tr -d '\r' <shown | jq -cS .)"
for form in swift kotlin csharp typescript; do
  shows "$form" "$realmfs" schema --format $form names.realm
done
"$realmfs" schema --format typescript names.realm >shown
equal "TypeScript: the literal is the name" "$("$realmfs" schema names.realm | jq '.schema[0].name')" \
  "$(grep -oP '^    name: \K.*(?=,$)' shown | head -1 | jq .)"
"$realmfs" schema --format kotlin names.realm >shown
check "Kotlin has no \\f and no bare \$" bash -c '! grep -qE "\\\\f|[^\\\\]\\$" shown'
if [ -z "${NO_SWIFTC:-}" ] && command -v swiftc >/dev/null; then
  { "$realmfs" schema --format swift names.realm | grep -oP '_realmObjectName\(\) -> String\? \{ \K.*(?= \})' | head -1 |
    sed 's/^/let name = /'; echo 'for scalar in name.unicodeScalars { print(scalar.value) }'; } >name.swift
  check "swiftc takes the literal" swiftc name.swift -o name
  equal "Swift: the literal is the name" "$("$realmfs" schema names.realm | jq '.schema[0].name | explode[]')" "$(./name)"
else
  skip "swiftc is absent: the Swift literal was not compiled"
fi
check "SQLite" "$realmfs" export --format sqlite names.realm names.db
python3 - <<'PY'
import json
schema = {"schemaVersion": 1, "schema": [{"name": "A\0B", "properties": {"n": {"type": "int"}}}]}
json.dump(schema, open("zero.json", "w"))
PY
check_status "a name with a zero byte is refused" 1 "contains a zero byte" "$realmfs" create --schema zero.json zero.realm

# A mount: refusals, the log, the attribute.
point=$(new_directory mnt)
serve names.realm "$point" || exit
printf '{"n":"\\u001b[31m\\u009b\\u202e"}' >"$point/Plain/$(ls "$point/Plain")" 2>/dev/null
printf '{"\\u001b[31m\\u009b\\u202e":1}' >"$point/Plain/new.json" 2>/dev/null
check "a refusal is noted" test -s "$point/.realm/errors"
for name in errors info.json stats.json version README; do
  check ".realm/$name: plain text" python3 plain.py "" <"$point/.realm/$name"
done
python3 - "$point/Plain" >shown <<'PY'
import os, sys
for name in os.listdir(sys.argv[1]):
    try:
        print(os.getxattr(f"{sys.argv[1]}/{name}", "user.realmfs.error").decode())
    except OSError:
        pass
PY
check "the attribute has the reason" grep -q "expected" shown
check "the attribute: plain text" python3 plain.py "" <shown
stop_server "$point"
check "the log: plain text" python3 plain.py "" <server.log

# A program that has the realm open may have any name.
python3 -c '
import fcntl, time
open("/proc/self/comm", "w").write("p\x1b[2J\u009b")
lock = open("names.realm.lock", "r+")
fcntl.flock(lock, fcntl.LOCK_SH)
print("ready", flush=True)
time.sleep(600)' >holder 2>&1 &
background+=($!)
wait_until 10 grep -q ready holder || not_ok "the holder of the lock: $(cat holder)"
shows "the name of a process" "$realmfs" info names.realm
check "the name of a process is there" grep -qF 'p\u001b[2J\u009b' shown
shows "the name of a process in a message" "$realmfs" compact names.realm
