#!/usr/bin/env bash
# A frozen mount always shows one version. The kernel opens files without asking it, so sizes must be exact before the
# first read, also for files that are rendered while they are read.
source "$(dirname "$0")/lib.sh"

for name in people strings numbers; do
  [ -e "$fixtures/$name.realm" ] || continue
  for option in --immutable --read-only; do
    point=$(new_directory "mnt-$name$option")
    check "$name, $option: mount" "$realmfs" mount "$option" -o frozen "$fixtures/$name.realm" "$point"
    for round in first second; do
      check "$name, $option: every name, size and byte, $round time" \
        python3 "$repository/Tests/e2e/compare_tree.py" mount "$point" "$fixtures/$name.tree.jsonl"
    done
    check "$name, $option: umount" "$realmfs" umount "$point"
  done
done

# Files that are rendered while they are read.
file=$(copy_fixture people)
point=$(new_directory mnt)
check "mount" "$realmfs" mount -o frozen,show_control "$file" "$point"
check "the mount is read-only" bash -c '! touch "$1" 2>/dev/null' - "$point/Person/4.json"
whole=$("$realmfs" cat --format jsonl "$file" Person; echo .)
lines=$point/Person/.all.jsonl
equal "the size of .all.jsonl is that of its text" "$((${#whole} - 1))" "$(python3 -c '
import os, sys; print(len(open(sys.argv[1], "rb").read().decode()))' "$lines")"
equal "stat says so" "$("$realmfs" cat --format jsonl "$file" Person | wc -c)" "$(stat -c %s "$lines")"
equal "wc -c" "$("$realmfs" cat --format jsonl "$file" Person | wc -c)" "$(wc -c <"$lines")"
equal "tail" "$("$realmfs" cat --format jsonl "$file" Person | tail -n 2)" "$(tail -n 2 "$lines")"
cp "$lines" "$scratch/lines"
equal "cp" "$("$realmfs" cat --format jsonl "$file" Person | sha256sum)" "$(sha256sum <"$scratch/lines")"
"$realmfs" export --class Person "$file" "$scratch/person.csv" >/dev/null
equal ".all.csv" "$(sha256sum <"$scratch/person.csv")" "$(sha256sum <"$point/Person/.all.csv")"
equal "its size" "$(wc -c <"$scratch/person.csv")" "$(stat -c %s "$point/Person/.all.csv")"
equal "of a query" 6 "$(wc -l <"$point/Person/.where/age > 30/.all.jsonl")"
equal ".count" 19 "$(cat "$point/Person/.count")"
equal "a file of .realm, twice" "$(cat "$point/.realm/info.json")" "$(cat "$point/.realm/info.json")"
check "which is JSON" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$point/.realm/info.json"
check "each property is a file" diff <(jq -r .age "$point/Person/74.json") "$point/Person/.fields/74/age"
check "a file may be mapped" python3 -c '
import mmap, sys
with open(sys.argv[1], "rb") as file:
    whole = file.read()
    mapped = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
    sys.exit(mapped[:] != whole)' "$point/Person/4.json"

# Commits by other programs are not shown, and space that they free stays readable.
other=$(new_directory other)
check "another mount, for writing" "$realmfs" mount "$file" "$other"
before=$(cat "$point/Person/4.json"; cat "$lines")
for age in 51 52 53; do echo "{\"age\": $age}" >"$other/Person/4.json"; echo "{\"age\": $age}" >"$other/Person/74.json"; done
equal "the other shows what was saved" 53 "$(jq .age "$other/Person/74.json")"
echo 3 >/proc/sys/vm/drop_caches 2>/dev/null
equal "the frozen one does not" "$before" "$(cat "$point/Person/4.json"; cat "$lines")"
check "nor in a file that was not read before" bash -c '! jq .age "$1" | grep -qx 53' - "$point/Person/74.json"
equal "queries are of its version" 0 "$(ls "$point/Person/.where/age == 53" | wc -l)"
check "umount" "$realmfs" umount "$point"
check "umount of the other" "$realmfs" umount "$other"

# A version that is not held: texts of one version, or an error.
check "mount without a place among the writers" "$realmfs" mount --immutable -o frozen "$file" "$point"
known=$(cat "$point/Person/4.json")
"$realmfs" mount "$file" "$other"
for age in 61 62 63; do echo "{\"age\": $age}" >"$other/Person/74.json"; done
equal "what is cached stays" "$known" "$(cat "$point/Person/4.json")"
check_status "what is not fails" 1 'Stale file handle' cat "$point/Person/74.json"
check "umount" "$realmfs" umount "$other"
check "umount" "$realmfs" umount "$point"

# Many objects: the kernel gets the texts of the next ones in advance.
python3 "$repository/Benchmarks/make_realm.py" 3000 "$scratch/many.realm" >/dev/null
equal "3000 objects" 3000 "$("$realmfs" cat "$scratch/many.realm" Item | jq -c . | wc -l)"
"$realmfs" cat "$scratch/many.realm" Item | jq -S -c . | sha256sum >"$scratch/expected"
"$realmfs" cat --format jsonl "$scratch/many.realm" Item >"$scratch/many.jsonl"
for options in frozen frozen,busy_poll=0; do
  "$realmfs" mount --immutable -f -d -o "$options" "$scratch/many.realm" "$point" 2>"$scratch/requests" &
  background+=($!)
  wait_until 20 mountpoint -q "$point"
  find "$point/Item" -type f -print0 | xargs -0 cat | jq -S -c . | sha256sum >"$scratch/found"
  equal "$options: all objects, in their order" "$(cat "$scratch/expected")" "$(cat "$scratch/found")"
  check "umount" "$realmfs" umount "$point"
  check "mount" "$realmfs" mount --immutable -o "$options" "$scratch/many.realm" "$point"
  equal "$options: by several programs at once, each text of one size" 3000 \
    "$(find "$point/Item" -type f -print0 | xargs -0 -P 4 -n 100 jq -r ._id | sort -u | wc -l)"
  check "umount" "$realmfs" umount "$point"
  check "mount" "$realmfs" mount --immutable -o "$options" "$scratch/many.realm" "$point"
  check "$options: forwards, backwards and at random at once, the texts of the realm" python3 -c '
import json, random, sys
from concurrent.futures import ThreadPoolExecutor
lines = [json.loads(line) for line in open(sys.argv[2])]
expected = {line["_id"]: line for line in lines}
orders = [list(expected) for _ in range(6)]
for order in orders[1::3]: order.reverse()
for order in orders[2::3]: random.Random(1).shuffle(order)
def read(order):
    for key in order:
        with open(f"{sys.argv[1]}/Item/{key}.json") as file:
            if json.load(file) != expected[key]: sys.exit(f"{key}.json is another one")
with ThreadPoolExecutor(6) as pool: list(pool.map(read, orders))' "$point" "$scratch/many.jsonl"
  check "umount" "$realmfs" umount "$point"
  opened=$(grep -c ', opcode: OPEN ' "$scratch/requests") read=$(grep -c ', opcode: READ ' "$scratch/requests")
  check "$options: the kernel asked for one OPEN and few READs: $opened, $read" test "$opened" -le 2 -a "$read" -lt 2000
done
"$realmfs" mount --immutable -s -o frozen "$scratch/many.realm" "$point"
equal "with a single thread" "$(cat "$scratch/expected")" \
  "$(find "$point/Item" -type f -print0 | xargs -0 cat | jq -S -c . | sha256sum)"
check "umount" "$realmfs" umount "$point"

# An unreadable object has no size, so its lookup fails.
for damaged in "$fixtures"/damaged/*.realm; do
  "$realmfs" mount --immutable "$damaged" "$point" 2>/dev/null || continue
  (cd "$point" && find . -type f -not -path './.realm/*' | sort | while read -r path; do
    cat "$path" 2>/dev/null || echo "$path: EIO"
  done) >"$scratch/live" 2>/dev/null
  "$realmfs" umount "$point"
  "$realmfs" mount --immutable -o frozen "$damaged" "$point" 2>/dev/null || continue
  (cd "$point" && find . -type f -not -path './.realm/*' | sort | while read -r path; do
    cat "$path" 2>/dev/null || echo "$path: EIO"
  done) >"$scratch/frozen" 2>/dev/null
  "$realmfs" umount "$point"
  check "$(basename "$damaged"): the same objects, the same errors" cmp "$scratch/live" "$scratch/frozen"
done
