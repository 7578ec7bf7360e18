#!/usr/bin/env bash
# While another program has a realm open exclusively, or shares it in a way unknown to realmfs, mount fails and names the
# program, unless --immutable is given. The lock file does not change.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)

# Locks FILE, `EX` or `SH`, and holds the lock.
hold() {
  rm -f "$scratch/held"
  python3 -c '
import fcntl, sys, time
lock = open(sys.argv[1], "r+")
fcntl.flock(lock, getattr(fcntl, "LOCK_" + sys.argv[2]))
print("held", flush=True)
time.sleep(600)' "$1" "$2" >"$scratch/held" &
  holder=$!
  background+=("$holder")
  wait_until 10 grep -q held "$scratch/held"
}

check "the first mount makes a lock file" "$realmfs" mount "$file" "$point"
check "umount" "$realmfs" umount "$point"
check "it stays" test -s "$file.lock"
check "a lock file that nobody holds is no obstacle" "$realmfs" mount "$file" "$point"
check "umount" "$realmfs" umount "$point"

# Layout 13, by a program that has the realm open.
printf '\015' | dd of="$file.lock" bs=1 seek=6 conv=notrunc status=none
before=$(sha256sum <"$file.lock")
hold "$file.lock" SH
check_status "mount refuses another layout, and names the process" 8 "layout 13.*process $holder \(python" \
  "$realmfs" mount "$file" "$point"
equal "the lock file was not touched" "$before" "$(sha256sum <"$file.lock")"
check_status "info tells who uses the file" 0 "in use by.* $holder \(python" "$realmfs" info "$file"
equal "info --json too" "$holder" "$("$realmfs" info --json "$file" | jq '.lockHolders[0].pid')"
check "--immutable mounts all the same" "$realmfs" mount --immutable "$file" "$point"
equal "and shows the data" "19" "$(ls "$point/Person" | wc -l)"
check "umount" "$realmfs" umount "$point"
check "reading without a mount is not refused" "$realmfs" cat "$file" Person
kill "$holder" && wait "$holder" 2>/dev/null

hold "$file.lock" EX
check_status "mount refuses a realm that somebody has for himself" 8 "exclusively.*process $holder \(python" \
  "$realmfs" mount "$file" "$point"
kill "$holder" && wait "$holder" 2>/dev/null
check "after the other program has ended, mount works" "$realmfs" mount "$file" "$point"
check "umount" "$realmfs" umount "$point"

# Another file's lock does not count.
cp "$file" "$scratch/other.realm"
: >"$scratch/other.realm.lock"
hold "$scratch/other.realm.lock" EX
check "somebody using another realm is no obstacle" "$realmfs" mount "$file" "$point"
check "umount" "$realmfs" umount "$point"
