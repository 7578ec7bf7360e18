#!/usr/bin/env bash
# A mount that is killed while saving: in the next mount each acknowledged save exists, and the file is valid.
source "$(dirname "$0")/lib.sh"

file=$scratch/killed.realm
point=$(new_directory mnt)
cat >"$scratch/schema.json" <<'JSON'
{"schemaVersion": 1, "schema": [{"name": "Item", "primaryKey": "_id", "properties":
  {"_id": {"type": "int"}, "text": {"type": "string"}}}]}
JSON
check "create" "$realmfs" create "$file" --schema "$scratch/schema.json"

cat >"$scratch/save.py" <<'PYTHON'
import json, sys
folder, first = sys.argv[1], int(sys.argv[2])
number = first
try:
  while True:
    with open(f"{folder}/{number}.json", "w") as file:
      file.write(json.dumps({"text": f"{number} " * (number % 300)}))
    print(number, flush=True)
    number += 1
except OSError: pass
PYTHON

: >"$scratch/saved"
next=0
for round in 1 2 3 4 5 6; do
  serve "$file" "$point" || exit
  python3 "$scratch/save.py" "$point/Item" "$next" >>"$scratch/saved" 2>/dev/null &
  writer=$!
  sleep "0.$((round * 137 % 900 + 100))"
  kill -9 "$server"
  wait "$writer" 2>/dev/null
  wait "$server" 2>/dev/null
  check "round $round: the file is sound" "$realmfs" check "$file"
  check "and can be mounted again" "$realmfs" mount "$file" "$point"
  equal "each acknowledged save is there" "" "$(python3 -c '
import json, os, sys
saved = [int(line) for line in open(sys.argv[2])]
for number in saved:
  text = json.load(open(f"{sys.argv[1]}/{number}.json"))["text"]
  if text != f"{number} " * (number % 300): print(number)
' "$point/Item" "$scratch/saved" 2>&1)"
  next=$(($(ls "$point/Item" | sed 's/.json//' | sort -n | tail -n 1) + 1))
  check "umount" "$realmfs" umount "$point"
done
[ "$(wc -l <"$scratch/saved")" -gt 20 ] || not_ok "only $(wc -l <"$scratch/saved") saves"
