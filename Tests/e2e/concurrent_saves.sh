#!/usr/bin/env bash
# Eight writers and eight readers on the same objects: no update is lost, no text is torn, memory stays bounded.
# SECONDS_OF_LOAD sets how long (10).
source "$(dirname "$0")/lib.sh"

file=$scratch/load.realm
point=$(new_directory mnt)
python3 -c '
import json
properties = {"_id": {"type": "int"}, "check": {"type": "string"}}
properties.update({f"p{i}": {"type": "int"} for i in range(8)})
print(json.dumps({"schemaVersion": 1, "schema": [{"name": "Item", "primaryKey": "_id", "properties": properties}]}))
' >"$scratch/schema.json"
check "create" "$realmfs" create "$file" --schema "$scratch/schema.json"
serve "$file" "$point" || exit

cat >"$scratch/load.py" <<'PYTHON'
import json, multiprocessing, os, random, sys, time
folder, seconds = sys.argv[1], float(sys.argv[2])
objects = 5

def write(number, results):
  # Each writer counts in a separate property; every other save also extends a text that all readers parse.
  counts = [0] * objects
  end = time.time() + seconds
  while time.time() < end:
    i = random.randrange(objects)
    change = {f"p{number}": counts[i] + 1}
    if random.random() < 0.5: change["check"] = chr(97 + number) * random.randrange(2000)
    with open(f"{folder}/{i}.json", "w") as file: file.write(json.dumps(change))
    counts[i] += 1
  results.put(("writer", number, counts))

def read(number, results):
  last = [[0] * 8 for _ in range(objects)]
  reads = 0
  end = time.time() + seconds
  while time.time() < end:
    i = random.randrange(objects)
    with open(f"{folder}/{i}.json") as file: value = json.loads(file.read())
    assert value["_id"] == i and len(set(value["check"])) <= 1, value
    for p in range(8):
      assert value[f"p{p}"] >= last[i][p], f"a count went from {last[i][p]} back to {value[f'p{p}']}"
      last[i][p] = value[f"p{p}"]
    reads += 1
  results.put(("reader", number, reads))

for i in range(objects):
  with open(f"{folder}/{i}.json", "w") as file: file.write(json.dumps({f"p{p}": 0 for p in range(8)}))
results = multiprocessing.Queue()
processes = [multiprocessing.Process(target=f, args=(i, results)) for f in (write, read) for i in range(8)]
for process in processes: process.start()
answers = []
while len(answers) < 16 and any(p.is_alive() or p.exitcode == 0 for p in processes):
  try: answers.append(results.get(timeout=seconds + 60))
  except Exception: break
for process in processes: process.join()
assert all(p.exitcode == 0 for p in processes), [p.exitcode for p in processes]
saves = 0
for kind, number, counts in answers:
  if kind != "writer": continue
  for i in range(objects):
    with open(f"{folder}/{i}.json") as file: found = json.load(file)[f"p{number}"]
    assert found == counts[i], f"writer {number}, object {i}: {counts[i]} saves acknowledged, {found} found"
    saves += counts[i]
reads = sum(counts for kind, _, counts in answers if kind == "reader")
assert saves > 8 and reads > 8
print(f"{saves} saves, {reads} reads")
PYTHON

resident() { awk '/VmRSS/ {print $2}' "/proc/$server/status"; }
python3 "$scratch/load.py" "$point/Item" 2 >/dev/null 2>&1
before=$(resident)
check "8 writers and 8 readers lose no update and see no torn text" \
  python3 "$scratch/load.py" "$point/Item" "${SECONDS_OF_LOAD:-10}"
after=$(resident)
if [ "$after" -lt $((before + 65536)) ]; then
  ok "memory stays bounded"
else
  not_ok "memory grew from $before to $after KiB"
fi
check "umount" "$realmfs" umount "$point"
check "the file is sound" "$realmfs" check "$file"
