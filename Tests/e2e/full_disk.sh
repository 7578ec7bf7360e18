#!/usr/bin/env bash
# A full disk: a save that does not fit fails with ENOSPC at close and leaves the object unchanged; its text can be read,
# and once there is space the same save succeeds.
source "$(dirname "$0")/lib.sh"

disk=$(new_directory disk)
point=$(new_directory mnt)
mount -t tmpfs -o size=2m tmpfs "$disk" 2>/dev/null || { skip "a file system of its own needs root"; exit; }
cp "$fixtures/people.realm" "$disk/people.realm"
serve "$disk/people.realm" "$point" || exit

save() {
  python3 -c '
import errno, json, os, sys
text = json.dumps({"name": "x" * int(sys.argv[2])}).encode()
file = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
while text: text = text[os.write(file, text):]
try: os.close(file)
except OSError as error: print(errno.errorcode[error.errno])' "$@"
}

equal "a save that fits" "" "$(save "$point/Person/4.json" 100)"
head -c 1500000 /dev/zero >"$disk/filler"
before=$(cat "$point/Person/4.json")
equal "one that does not is ENOSPC at close" ENOSPC "$(save "$point/Person/4.json" 900000)"
equal "the object is as it was" "$before" "$(cat "$point/Person/4.json")"
equal "the refused text can be read" 900000 "$(jq '.name | length' "$point/.realm/rejected/Person/4.json")"
check "the reason too" grep -qi "no space" "$point/.realm/errors"
check "the log has the chain down to the system call" grep -qE \
  "cannot save Person/4.json: $disk/people.realm: No space left on device \((pwrite|posix_fallocate), [0-9]+ bytes at [0-9]+\)" \
  "$scratch/server.log"
equal "reading goes on" 19 "$(ls "$point/Person" | wc -l)"
equal "small saves go on" "" "$(save "$point/Person/18.json" 10)"
version=$(cat "$point/.realm/version")
check_status "lines that do not fit beside the realm are ENOSPC" 1 'No space left' bash -c \
  'seq 100000 199999 | sed "s/.*/{\"_id\":&,\"name\":\"a name that takes some room, &\"}/" | cat >"$1/Person/.all.jsonl"' - "$point"
equal "and none is saved" "$version 19" "$(cat "$point/.realm/version") $(ls "$point/Person" | wc -l)"
check "the reason is kept" bash -c 'tail -n 1 "$1/.realm/errors" | grep -q "all.jsonl.*No space"' - "$point"
rm "$disk/filler"
equal "with space again the same save works" "" "$(save "$point/Person/4.json" 900000)"
equal "and is there" 900000 "$(jq '.name | length' "$point/Person/4.json")"
check "umount" "$realmfs" umount "$point"
check "the file is sound" "$realmfs" check "$disk/people.realm"

# Commands that create a file end with exit code 1 and the reason, and leave no file.
head -c 1990000 /dev/zero >"$disk/filler" 2>/dev/null
before=$(ls -A "$disk")
large=$fixtures/items-10k.realm
for command in "backup $large @/out" "recover $large @/out" "convert --local $fixtures/synced.realm @/out" "compact @/people.realm" \
  "encrypt --key-file $key_file $large @/out" "export --format csv $large @/out" "export --format json $large @/out" \
  "create @/out"; do
  # shellcheck disable=SC2086
  check_status "$command" 1 "$disk/(out|people.realm)[^ :]*: No space left on device( \\(.*\\))?\$" "$realmfs" ${command//@\//$disk/}
done
# SQLite rolls back the transaction on its own, in the middle of an object, in its lists, or at the end.
names=$fixtures/all-types.realm
for room in 20 60 100 140 180; do
  truncate -s -${room}k "$disk/filler"
  for realm in "$large" "$names"; do
    "$realmfs" export --quiet --format sqlite "$realm" "$disk/out" 2>"$scratch/error" || {
      equal "export to SQLite with $room kB" "realmfs: $disk/out: No space left on device" "$(cat "$scratch/error")"
    }
    rm -f "$disk/out"*
  done
  head -c ${room}k /dev/zero >>"$disk/filler" 2>/dev/null
done
cp "$fixtures/old/v9-core-5.23.9.realm" "$scratch/old.realm"
ln -s "$scratch/old.realm" "$scratch/link.realm"
check_status "upgrade" 1 "$disk/[^ :]*: No space left on device" "$realmfs" upgrade --backup-dir "$disk" "$scratch/old.realm"
"$realmfs" export "$large" >"$disk/out" 2>"$scratch/error"
equal "export to a stream" "1 1" "$? $(grep -c 'No space left' "$scratch/error")"
rm "$disk/out"
equal "nothing was left" "$before" "$(ls -A "$disk")"
check "the file is sound" "$realmfs" check "$disk/people.realm"
rm -rf "$disk"/people.realm.*
dd if=/dev/zero of="$disk/filler" bs=4k 2>/dev/null
check_status "without room beside the realm mount says what helps" 1 'No space left.*--immutable' \
  "$realmfs" mount "$disk/people.realm" "$point"
serve "$disk/people.realm" "$point" --read-only
equal "--read-only needs none" 19 "$(ls "$point/Person" | wc -l)"
stop_server "$point"
umount "$disk"

# The spreadsheet library copies each sheet again, and ignores errors of that.
for size in 3000k 4000k 5000k; do
  mount -t tmpfs -o size=$size tmpfs "$disk"
  check_status "export of a spreadsheet where $size are too little" 1 'No space left on device' \
    "$realmfs" export "$large" "$disk/out.xlsx"
  equal "leaves nothing" "" "$(ls -A "$disk")"
  umount "$disk"
done
