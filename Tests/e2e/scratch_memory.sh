#!/usr/bin/env bash
# Files in memory take little more than their bytes, never exceed the limit of the mount, and are freed on removal.
# alone: it measures memory, which other scripts use up

source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" || exit
# The peak memory of the server in MB, without that at the start.
peak() { awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$server/status"; }
start=$(peak)
below() { [ "$(($(peak) - start))" -lt "$1" ] || { echo "$(peak) MB, $start MB at the start"; false; }; }

check "a scratch file of 200 MB" dd if=/dev/zero of="$point/Person/scratch" bs=1M count=200 status=none
check "takes less than 230 MB" below 230
equal "and is whole" "$(head -c 209715200 /dev/zero | sha256sum)" "$(sha256sum <"$point/Person/scratch")"
check_status "a second one is refused in time" 1 'No space left' \
  dd if=/dev/zero of="$point/Person/second" bs=1M count=100 status=none
check "the first can be removed" rm "$point/Person/scratch" "$point/Person/second"
check_status "a file of 300 MB is refused" 1 'No space left' \
  dd if=/dev/zero of="$point/Person/scratch" bs=1M count=300 status=none
check "and took less than 300 MB" below 300
check "objects can be saved meanwhile" bash -c 'echo "{\"age\": 5}" >"$1/Person/4.json"' - "$point"
check "it can be removed too" rm "$point/Person/scratch"
check "a file with a hole of 100 GB takes none" truncate -s 100G "$point/Person/scratch"
check "and can be written to at its end" bash -c 'echo end | dd of="$1" bs=1M seek=102399 conv=notrunc status=none' - \
  "$point/Person/scratch"
equal "there it is" "end" "$(dd if="$point/Person/scratch" bs=1M skip=102399 count=1 status=none | head -c 3)"
check "saving as an object a text that is too large for a second copy fails, and no more" \
  bash -c '! mv "$1/scratch" "$1/4.json" 2>/dev/null && jq -e ".age == 5" "$1/4.json"' - "$point/Person"
rm -f "$point/Person/scratch"
check "many empty files are counted too" bash -c 'cd "$1" && seq -f "x%g" 1 2000 | xargs touch && rm x*' - "$point/Person"
# Lines that are saved in one commit are stored beside the realm until then, and so are their changes.
check "umount" "$realmfs" umount "$point"
serve "$file" "$point" || exit
start=$(peak)
lines() { python3 -c '
for key in range(1000, 9000): print("{\"_id\":%d,\"name\":\"%s\"}" % (key, str(key) * 1500))'; }
check "48 MB of lines are saved" bash -c '"$@" >"$0/Person/.all.jsonl"' "$point" cat <(lines)
equal "all of them" 8019 "$(cat "$point/Person/.count")"
equal "the last, too" 6000 "$(jq -r .name "$point/Person/8999.json" | tr -d '\n' | wc -c)"
check "in less than 40 MB" below 40
equal "nothing is left beside the realm" "" "$(find "$(dirname "$file")" -maxdepth 1 -name '*spool*')"
# A line that is too long takes neither memory nor disk space.
start=$(peak)
check_status "a line of 200 MB is refused when it is written" 1 'File too large' \
  bash -c 'python3 -c "print(chr(123) + chr(32) * 200_000_000)" | dd of="$1/Person/.all.jsonl" bs=1M iflag=fullblock status=none' - "$point"
check "in less than 40 MB" below 40
check "and says so" grep -q 'the last line is longer than 128 MB' "$point/.realm/errors"
# Snapshots of one version share memory, and those of others need little.
start=$(peak)
check "100 snapshots of one version" bash -c 'cd "$1" && mkdir $(seq -f "s%g" 100)' - "$point/.realm/snapshots"
check "100 of others" bash -c 'for i in $(seq 100); do echo "{\"age\": $i}" >"$1/Person/4.json" && mkdir "$1/.realm/snapshots/v$i"; done' - "$point"
check "take less than 40 MB" below 40
equal "and show what was" "50 100" "$(jq .age "$point/.realm/snapshots/v50/Person/4.json" "$point/.realm/snapshots/v100/Person/4.json" | paste -sd' ')"
check "umount" "$realmfs" umount "$point"
check "the realm is sound" "$realmfs" check "$file"
