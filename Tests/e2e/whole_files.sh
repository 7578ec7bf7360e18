#!/usr/bin/env bash
# .all.jsonl and .all.csv have their exact size: programs that rely on it copy them completely, also during commits.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" || exit
jsonl=$point/Person/.all.jsonl csv=$point/Person/.all.csv
"$realmfs" cat --format jsonl "$file" Person >"$scratch/expected.jsonl"
"$realmfs" export --class Person "$file" "$scratch/expected.csv" 2>/dev/null
size=$(stat -c %s "$scratch/expected.jsonl")
same() { equal "$1" "$(sha256sum <"$scratch/expected.$3")" "$(sha256sum <"$2")"; }

equal "the size of .all.jsonl" "$size" "$(stat -c %s "$jsonl")"
equal "the size of .all.csv" "$(stat -c %s "$scratch/expected.csv")" "$(stat -c %s "$csv")"
equal "of a query" "$(wc -c <"$point/Person/.where/age > 30/.all.jsonl")" \
  "$(stat -c %s "$point/Person/.where/age > 30/.all.jsonl")"

for form in jsonl csv; do
  source=$point/Person/.all.$form
  python3 -c 'import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])' "$source" "$scratch/copy"
  same "Python's shutil.copy of .all.$form" "$scratch/copy" $form
  rm -f "$scratch/copy"
  cp "$source" "$scratch/copy"
  same "cp" "$scratch/copy" $form
  rsync "$source" "$scratch/copied"
  same "rsync" "$scratch/copied" $form
  tar -C "$point/Person" -cf - ".all.$form" | tar -xOf - >"$scratch/copy"
  same "tar" "$scratch/copy" $form
  python3 -c '
import mmap, sys
with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as mapped:
  sys.stdout.buffer.write(mapped[:])' "$source" >"$scratch/copy"
  same "mmap" "$scratch/copy" $form
  equal "tail" "$(tail -n 2 "$scratch/expected.$form")" "$(tail -n 2 "$source")"
  if command -v git >/dev/null; then
    equal "git hash-object" "$(git hash-object "$scratch/expected.$form")" "$(git hash-object "$source")"
  fi
  if command -v sqlite3 >/dev/null; then
    equal "sqlite's readfile" "$(stat -c %s "$scratch/expected.$form")" \
      "$(sqlite3 :memory: "select length(readfile('$source'))")"
  fi
  if command -v node >/dev/null; then
    node -e 'require("fs").copyFileSync(process.argv[1], process.argv[2])' "$source" "$scratch/node.copy"
    same "Node's copyFileSync" "$scratch/node.copy" $form
  fi
done
if python3 -c 'import duckdb' 2>/dev/null; then
  equal "DuckDB" "19 19" "$(python3 - "$jsonl" "$csv" <<'PYTHON'
import duckdb, sys
print(*(duckdb.sql(f"select count(*) from read_{kind}('{path}')").fetchone()[0] for kind, path in zip(("json", "csv"), sys.argv[1:])))
PYTHON
)"
fi

# In a transaction, in a snapshot, and after a write.
mkdir "$point/.realm/tx/t"
echo '{"name": "a longer name than the one before"}' >"$point/.realm/tx/t/Person/4.json"
equal "in a transaction" "$(wc -c <"$point/.realm/tx/t/Person/.all.jsonl")" \
  "$(stat -c %s "$point/.realm/tx/t/Person/.all.jsonl")"
equal "outside it is as before" "$size" "$(stat -c %s "$jsonl")"
mkdir "$point/.realm/snapshots/before"
check "its commit" bash -c 'echo 1 >"$1"' - "$point/.realm/tx/t/.commit"
equal "then it is not" "$(wc -c <"$jsonl")" "$(stat -c %s "$jsonl")"
check "it is larger" test "$(stat -c %s "$jsonl")" -gt "$size"
equal "in a snapshot it is" "$size" "$(stat -c %s "$point/.realm/snapshots/before/Person/.all.jsonl")"
echo '{"_id": 4, "name": "x"}' >>"$jsonl"
equal "lines that are written count" "$(cat "$jsonl" | wc -c)" "$(stat -c %s "$jsonl")"

# While another process commits through another mount, text and size of one opening are of one version.
other=$(new_directory other)
committed=$server
serve "$file" "$other" || exit
committer=$server
touch "$scratch/run"
python3 - "$other/Person/4.json" "$scratch" <<'PYTHON' &
import os, sys
count = 0
while os.path.exists(sys.argv[2] + "/run"):
  with open(sys.argv[1], "w") as file: file.write('{"name": "%s"}' % ("x" * (5 + 900 * (count % 2))))
  count += 1
  if count == 2: open(sys.argv[2] + "/going", "w").close()
PYTHON
writer=$!
background+=("$writer")
check "another program commits" wait_until 60 test -e "$scratch/going"
equal "open, fstat and read agree" "{'whole': 300}" "$(python3 - "$jsonl" <<'PYTHON'
import collections, json, os, sys
outcomes = collections.Counter()
for _ in range(300):
  handle = os.open(sys.argv[1], os.O_RDONLY)
  size, text = os.fstat(handle).st_size, b""
  while piece := os.read(handle, 4096): text += piece
  again = os.fstat(handle).st_size
  os.close(handle)
  whole = size == len(text) == again and text.endswith(b"}\n") and len(text.splitlines()) == 19
  outcomes["whole" if whole else "torn"] += 1
print(dict(outcomes))
PYTHON
)"
rm "$scratch/run"
wait "$writer"
server=$committed
stop_server "$point"
server=$committer
stop_server "$other"
check "the realm is sound" "$realmfs" check "$file"
