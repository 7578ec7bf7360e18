#!/usr/bin/env bash
# While another program takes part in a realm (holds FILE.lock), a mount refuses and names it, unless --immutable is
# given. The lock file itself is neither opened nor locked.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
: >"$file.lock"

hold() {
  python3 -c '
import fcntl, sys, time
lock = open(sys.argv[1], "r+")
fcntl.flock(lock, fcntl.LOCK_SH)
print("held", flush=True)
time.sleep(600)' "$1" >"$scratch/held" &
  holder=$!
  background+=("$holder")
  wait_until 10 grep -q held "$scratch/held"
}

check "a lock file that nobody holds is no obstacle" "$realmfs" mount "$file" "$point"
check "umount" "$realmfs" umount "$point"

hold "$file.lock"
check_status "mount refuses, names the process and the option" 8 "process $holder \(python.*--immutable" \
  "$realmfs" mount "$file" "$point"
check_status "info tells who uses the file" 0 "in use by.* $holder \(python" "$realmfs" info "$file"
equal "info --json too" "$holder" "$("$realmfs" info --json "$file" | jq '.lockHolders[0].pid')"
ln -s "$file" "$scratch/link.realm"
check_status "a symbolic link to the file does not hide it" 8 "$holder" "$realmfs" mount "$scratch/link.realm" "$point"
if command -v strace >/dev/null; then
  strace -f -qq -e signal=none -e trace=openat,flock -o "$scratch/trace" "$realmfs" mount "$file" "$point" 2>/dev/null
  equal "the lock file was not opened" "" "$(grep -E 'realm\.lock|flock\(' "$scratch/trace")"
fi
check "--immutable mounts all the same" "$realmfs" mount --immutable "$file" "$point"
equal "and shows the data" "19" "$(ls "$point/Person" | wc -l)"
check "umount" "$realmfs" umount "$point"
check "reading without a mount is not refused" "$realmfs" cat "$file" Person
kill "$holder" && wait "$holder" 2>/dev/null
check "after the other program has ended, mount works" "$realmfs" mount "$file" "$point"
check "umount" "$realmfs" umount "$point"

# Another file's lock does not count.
cp "$file" "$scratch/other.realm"
: >"$scratch/other.realm.lock"
hold "$scratch/other.realm.lock"
check "somebody using another realm is no obstacle" "$realmfs" mount "$file" "$point"
check "umount" "$realmfs" umount "$point"
