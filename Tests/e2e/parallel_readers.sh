#!/usr/bin/env bash
# Sixteen concurrent readers of five kinds: no errors, and no growth of memory. E2E_SECONDS sets the time (20; 60 with
# E2E_LONG=1).
source "$(dirname "$0")/lib.sh"

seconds=${E2E_SECONDS:-${E2E_LONG:+60}}
seconds=${seconds:-20}
point=$(new_directory mnt)
serve "$fixtures/items-10k.realm" "$point" || exit 0

resident() { awk '/VmRSS/ {print $2}' "/proc/$server/status"; }
class=$point/$(ls "$point" | head -1)

read_once() {
  case $1 in
    find) find "$point" -type f -size +0 >/dev/null ;;
    grep) grep -rc '"' "$class" >/dev/null ;;
    cat) find "$class" -type f -print0 | xargs -0 cat >/dev/null ;;
    tar) tar -C "$point" -cf - . | cat >/dev/null ;;
    rsync) if command -v rsync >/dev/null; then rsync -an "$point/" "$scratch/nothing/"; else ls -lR "$point"; fi >/dev/null ;;
  esac
}

read_until() {
  local rounds=0
  while [ "$(date +%s)" -lt "$2" ]; do
    read_once "$1" || { echo "$1 failed with status $?"; return 1; }
    rounds=$((rounds + 1))
  done 2>>"$scratch/errors"
  echo "$rounds" >>"$scratch/rounds"
}

# One round of each first, to fill the caches.
for kind in find grep cat tar rsync; do read_once $kind; done 2>>"$scratch/errors"
before=$(resident)
end=$(($(date +%s) + seconds))
readers=()
kinds=(find grep cat tar rsync)
for number in $(seq 0 15); do
  read_until "${kinds[$((number % 5))]}" $end >>"$scratch/errors" &
  readers+=($!)
done
failed=0
for reader in "${readers[@]}"; do wait "$reader" || failed=$((failed + 1)); done
after=$(resident)

equal "16 readers for $seconds s, $(awk '{n += $1} END {print n}' "$scratch/rounds") rounds: no error" \
  "0 readers failed: " "$failed readers failed: $(head -c 500 "$scratch/errors")"
if [ $((after - before)) -lt 6144 ]; then
  ok "memory stays: $before kB before, $after kB after"
else
  not_ok "memory grew from $before kB to $after kB"
fi
if [ "$after" -lt 65536 ]; then ok "$after kB are below 64 MB"; else not_ok "$after kB are too much"; fi
stop_server "$point"

# A long request does not delay others: neither a slow query, nor saves that wait for another writer.
mkdir "$scratch/long"
echo '{"schemaVersion":0,"schema":[{"name":"Item","primaryKey":"_id","properties":{"_id":"int","title":"string"}}]}' \
  >"$scratch/long/schema.json"
awk 'BEGIN { text = sprintf("%500s", ""); gsub(" ", "a", text)
  for (i = 0; i < 60000; i++) printf "{\"_id\":%d,\"title\":\"%s\"}\n", i, text }' >"$scratch/long/Item.jsonl"
long=$scratch/long/long.realm
"$realmfs" create "$long" --schema "$scratch/long/schema.json"
"$realmfs" import --quiet "$long" "$scratch/long/Item.jsonl"
rm "$scratch/long/Item.jsonl"
serve "$long" "$point" || exit 0
query='title LIKE[c] "*a*a*b"'
for letter in c d e f g h i; do query+=" OR title LIKE[c] \"*a*a*$letter\""; done

answered_beside() { # PID: how many of five files are read, and whether PID still runs after that
  local count=0 file
  for file in 1 2 3 4 5; do timeout 10 cat "$point/Item/$file.json" >/dev/null && count=$((count + 1)); done
  if kill -0 "$1" 2>/dev/null; then echo "$count beside it"; else echo "$count after it"; fi
}

ls "$point/Item/.where/$query" >"$scratch/found" &
asking=$!
sleep 0.1
equal "files are read while a query runs" "5 beside it" "$(answered_beside $asking)"
wait $asking
equal "and the query ends well" 0 $?

# An import holds the writer lock until its input ends.
mkfifo "$scratch/long/lines"
"$realmfs" import --quiet --class Item --format jsonl "$long" - <"$scratch/long/lines" &
importer=$!
exec 9>"$scratch/long/lines"
echo '{"_id":1,"title":"from the import"}' >&9
sleep 0.5
saves=()
for number in 11 12 13 14 15 16; do
  echo "{\"title\":\"save $number\"}" >"$point/Item/$number.json" 9>&- &
  saves+=($!)
done
sleep 0.3
equal "files are read while saves wait" "5 beside it" "$(answered_beside "${saves[0]}")"
exec 9>&-
wait $importer
failed=0
for save in "${saves[@]}"; do wait "$save" || failed=$((failed + 1)); done
equal "and the saves are made" "0 failed, 6 made" \
  "$failed failed, $(cat "$point"/Item/1[1-6].json | grep -c '"save 1') made"
stop_server "$point"
