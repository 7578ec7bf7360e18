#!/usr/bin/env bash
# The size of a handle equals the number of bytes that it reads, whatever another program commits: for read, mmap and tar.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
other=$(new_directory other)
serve "$file" "$other" || exit
committer=$server
serve "$file" "$point" || exit

# Another process commits texts of two sizes through a separate mount, as fast as it can.
python3 - "$other/Person/4.json" "$scratch/commits" <<'PYTHON' &
import os, sys
count = 0
while os.path.exists(os.path.dirname(sys.argv[2])):
  try:
    with open(sys.argv[1], "w") as file: file.write('{"name": "%s"}' % ("x" * (5 + 9000 * (count % 2))))
  except FileNotFoundError: break
  count += 1
  with open(sys.argv[2] + ".new", "w") as file: file.write(str(count))
  os.rename(sys.argv[2] + ".new", sys.argv[2])
PYTHON
writer=$!
background+=("$writer")
check "another program commits" wait_until 20 test -s "$scratch/commits"
commits() { cat "$scratch/commits"; }

rounds() {
  python3 - "$point/Person/4.json" "$@" <<'PYTHON'
import collections, mmap, os, sys, time
how, count = sys.argv[2], int(sys.argv[3])
outcomes, sizes = collections.Counter(), set()
end = time.time() + 60
round = 0
# On a busy machine the other program may need more time for enough commits.
while round < count or len(sizes) < 2 and time.time() < end:
  round += 1
  if how == "stat": os.stat(sys.argv[1])
  handle = os.open(sys.argv[1], os.O_RDWR if how == "rw" else os.O_RDONLY)
  size = os.fstat(handle).st_size
  if how == "mmap":
    with mmap.mmap(handle, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as mapped: text = mapped[:]
  else:
    text = b""
    while piece := os.read(handle, 4096): text += piece
  again = os.fstat(handle).st_size
  os.close(handle)
  sizes.add(size)
  outcomes["agree" if size == again == len(text) and text.endswith(b"}\n") and b"\0" not in text else "differ"] += 1
print(outcomes["differ"], "of", count if round >= count else round, "differ,", "both sizes" if len(sizes) > 1 else sizes)
PYTHON
}
before=$(commits)
equal "open, fstat and read" "0 of 3000 differ, both sizes" "$(rounds read 3000)"
equal "stat, open, fstat and read" "0 of 3000 differ, both sizes" "$(rounds stat 3000)"
equal "for a handle that may write" "0 of 1000 differ, both sizes" "$(rounds rw 1000)"
for reader in 1 2 3; do
  rounds read 1000 >"$scratch/reader-$reader" &
  readers[reader]=$!
done
wait "${readers[@]}"
equal "for several readers at once" "3 0 of 1000 differ, both sizes" \
  "$(cat "$scratch"/reader-* | sort | uniq -c | xargs)"
equal "and for mmap" "0 of 1000 differ, both sizes" "$(rounds mmap 1000)"
for _ in $(seq 50); do
  # tar correctly warns that the file changed while it was read.
  tar -C "$point/Person" -c 4.json 2>/dev/null | tar -xO 2>&1 | jq -r '.name | length' 2>&1
done | sort -u >"$scratch/lengths"
check "tar takes whole texts" bash -c '! grep -vxE "5|9005" "$1"' - "$scratch/lengths"
check "there were commits all the time" [ "$(commits)" -gt $((before + 20)) ]

{ kill "$writer" && wait "$writer"; } 2>/dev/null
stop_server "$point"
server=$committer
stop_server "$other"
check "the realm is sound" "$realmfs" check "$file"

# A listing with sizes renders the texts of many objects. The memory kept does not grow with the texts.
python3 -c '
import json
for key in range(1, 301): print(json.dumps({"_id": key, "name": str(key) * (400000 // len(str(key)))}))' >"$scratch/Item.jsonl"
echo '[{"name": "Item", "primaryKey": "_id", "properties": {"_id": "int", "name": "string"}}]' >"$scratch/schema.json"
large=$scratch/large.realm
check "a realm of large texts" "$realmfs" create --schema "$scratch/schema.json" "$large"
check "300 of 400 kB" "$realmfs" import "$large" "$scratch/Item.jsonl"
for options in ro frozen; do
  serve "$large" "$point" -o "$options"
  equal "$options: ls -l" 300 "$(find "$point/Item" -size +390k -name '*.json' | wc -l)"
  peak=$(awk '$1 == "VmHWM:" {print $2}' "/proc/$server/status")
  check "$options: 80 MB are enough: $peak kB" test "$peak" -lt 81920
  stop_server "$point"
done
rm "$large"
