#!/usr/bin/env bash
# Eight readers of .all.jsonl, .all.csv, .where, .by and .count while two programs write whole classes, each in one
# commit: each opening shows one version. E2E_SECONDS sets the time (6).
source "$(dirname "$0")/lib.sh"

file=$scratch/rounds.realm
point=$(new_directory mnt)
cat >"$scratch/schema.json" <<'JSON'
[{"name": "Item", "primaryKey": "_id",
  "properties": {"_id": "int", "round": {"type": "int", "indexed": true}, "even": "bool",
  "text": "string"}}]
JSON
check "a realm" "$realmfs" create --schema "$scratch/schema.json" "$file"
serve "$file" "$point" || exit
check "whose objects all have the same round" python3 "$(dirname "$0")/shared_selections.py" write "$point" 0
check "stays so for all readers" \
  python3 "$(dirname "$0")/shared_selections.py" run "$realmfs" "$file" "$point" "${E2E_SECONDS:-6}" "$scratch"
stop_server "$point"
check "sound" "$realmfs" check "$file"
# The readers detect the faults that they look for.
serve "$file" "$point" || exit
echo '{"round": -7}' >"$point/Item/3.json"
check_status "a mixed version would be seen" 1 'rounds' python3 "$(dirname "$0")/shared_selections.py" read "$point"
stop_server "$point"
