#!/usr/bin/env bash
# While a program rewrites a file, all others read the stored text with its size: by rsync, tar, mmap, read, and in the
# process that writes.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" || exit
target=$point/Person/4.json

# A handle that has written a part: the view of others, and of its own program.
stored=$(cat "$target")
size=$(stat -c %s "$target")
(
  exec 3>"$target"
  printf '{"age": 7' >&3
  echo >"$scratch/written"
  wait_until 60 test -e "$scratch/read"
  printf '}' >&3
) &
writer=$!
background+=("$writer")
check "a part is written" wait_until 20 test -e "$scratch/written"
equal "stat gives the size of the stored text" "$size" "$(stat -c %s "$target")"
equal "tar takes the stored text" "$stored" "$(tar -C "$point/Person" -c 4.json | tar -xO)"
check "rsync, too" rsync -a "$target" "$scratch/copy.json"
equal "and its copy is whole" "$stored" "$(cat "$scratch/copy.json")"
touch "$scratch/read"
wait "$writer"
equal "then the text is saved" 7 "$(jq .age "$target")"

# The program's own handle has its own size, by stat and by seeking to its end; a handle that it opens later reads the
# stored text, whatever the first has written.
equal "a program that writes knows what it has written" "ok" "$(python3 - "$target" <<'PYTHON'
import os, sys
path = sys.argv[1]
stored = open(path, "rb").read()
def sizes(handle):
  place, end = os.lseek(handle, 0, os.SEEK_CUR), os.lseek(handle, 0, os.SEEK_END)
  os.lseek(handle, place, os.SEEK_SET)
  return os.fstat(handle).st_size, end
handle = os.open(path, os.O_RDWR)
assert sizes(handle) == (len(stored), len(stored))
os.pwrite(handle, b"  ", len(stored))
assert sizes(handle) == (len(stored) + 2,) * 2
os.ftruncate(handle, 5)
assert sizes(handle) == (5, 5) and os.stat(path).st_size == 5
reader = os.open(path, os.O_RDONLY)
assert sizes(reader) == (len(stored), len(stored)) and os.read(reader, 1 << 20) == stored
assert os.fstat(handle).st_size == len(stored)
os.close(reader)
os.ftruncate(handle, 0)
os.pwrite(handle, b'{"age": 8}', 0)
os.close(handle)
handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
assert sizes(handle) == (0, 0)
os.write(handle, b'{"age"')
assert sizes(handle) == (6, 6)
os.write(handle, b': 9}')
os.close(handle)
text = open(path, "rb").read()
assert b'"age": 9' in text and os.stat(path).st_size == len(text)
with open(path, "a") as file: assert file.tell() == len(text)
print("ok")
PYTHON
)"
equal "the bytes that a child writes to its output count for it" "2 2" "$(
  { python3 -c 'import os; print(" ", flush=True); print(os.fstat(1).st_size, os.lseek(1, 0, 2), file=open(2, "w"))'
    printf '{"age": 10}'; } 2>&1 >"$target")"
equal "and are saved" 10 "$(jq .age "$target")"

# In a loop: texts of several pages and of a few bytes, each in two pieces.
cat >"$scratch/loop.py" <<'PYTHON'
import os, sys
path, directory, count = sys.argv[1], sys.argv[2], 0
while os.path.exists(directory + "/run"):
  text = b'{"name": "%s"}' % (b"x" * (5 + 9000 * (count % 2)))
  try: handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
  except FileNotFoundError: break
  for start in range(0, len(text), 4999): os.write(handle, text[start:start + 4999])
  os.close(handle)
  count += 1
  if count == 2: open(directory + "/going", "w").close()
PYTHON
touch "$scratch/run"
python3 "$scratch/loop.py" "$target" "$scratch" &
writer=$!
background+=("$writer")
check "a program writes all the time" wait_until 60 test -e "$scratch/going"

# True if a text is one of the two, complete.
judge() { jq -r '.name | length' "$@" 2>&1; }
for _ in $(seq 60); do
  rm -f "$scratch/copy.json"
  rsync -a "$target" "$scratch/copy.json" && judge "$scratch/copy.json"
done | sort | uniq -c >"$scratch/rsync"
check "rsync copies whole texts" bash -c '[ -s "$1" ] && ! grep -vE " (5|9005)$" "$1"' - "$scratch/rsync"
for _ in $(seq 60); do tar -C "$point/Person" -c 4.json 2>/dev/null | tar -xO 2>&1 | judge; done | sort | uniq -c >"$scratch/tar"
check "tar takes whole texts" bash -c '[ -s "$1" ] && ! grep -vE " (5|9005)$" "$1"' - "$scratch/tar"
readers() {
  python3 - "$target" "$@" <<'PYTHON'
import collections, json, mmap, os, sys
how, outcomes = sys.argv[2], collections.Counter()
for _ in range(int(sys.argv[3])):
  handle = os.open(sys.argv[1], os.O_RDONLY)
  size = os.fstat(handle).st_size
  if how == "mmap":
    with mmap.mmap(handle, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as mapped: text = mapped[:]
  else:
    text = b""
    while piece := os.read(handle, 4096): text += piece
  os.close(handle)
  try: whole = len(text) == size and len(json.loads(text)["name"]) in (5, 9005)
  except ValueError: whole = False
  outcomes["whole" if whole else "torn"] += 1
print(dict(outcomes))
PYTHON
}
equal "by read and its size" "{'whole': 2000}" "$(readers read 2000)"
equal "by mmap" "{'whole': 2000}" "$(readers mmap 2000)"
rm "$scratch/run"
wait "$writer"

# A program that reads the file through one handle while it writes it through another.
equal "a program reads the stored text while it writes" "{'whole': 200}" "$(python3 - "$target" <<'PYTHON'
import collections, json, os, sys
outcomes = collections.Counter()
for round in range(200):
  writer = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
  os.write(writer, b'{"age": ')
  reader = os.open(sys.argv[1], os.O_RDONLY)
  text = os.read(reader, os.fstat(reader).st_size)
  os.close(reader)
  os.write(writer, b"%d}" % round)
  os.close(writer)
  try: whole = json.loads(text)["age"] in (10, round - 1)
  except ValueError: whole = False
  outcomes["whole" if whole else "torn"] += 1
print(dict(outcomes))
PYTHON
)"
if command -v node >/dev/null; then
  equal "and so does Node" 200 "$(node -e '
    const fs = require("fs"), path = process.argv[1];
    let whole = 0;
    for (let round = 0; round < 200; round++) {
      const handle = fs.openSync(path, "w");
      fs.writeSync(handle, "{\"age\": ");
      try { if (JSON.parse(fs.readFileSync(path, "utf8")).age >= 0) whole++; } catch {}
      fs.writeSync(handle, round + "}");
      fs.closeSync(handle);
    }
    console.log(whole);' "$target")"
fi
stop_server "$point"
check "the realm is sound" "$realmfs" check "$file"
