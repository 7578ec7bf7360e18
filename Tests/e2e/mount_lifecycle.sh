#!/usr/bin/env bash
# The lifecycle of a mount: it is live when `mount` returns, its exit status is correct, and it ends by umount, by
# signals and after a crash.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)

check "mount returns 0" "$realmfs" mount "$file" "$point"
equal "the tree is live when mount returns" "Dog Person" "$(ls "$point" | paste -sd" ")"
pid=$(pgrep -f "^$realmfs mount $file $point\$")
if [ -n "$pid" ]; then ok "one process serves it"; else not_ok "one process serves it: $(pgrep -af realmfs)"; fi
equal "it left the terminal" "/dev/null /dev/null /dev/null" \
  "$(readlink "/proc/$pid/fd/0" "/proc/$pid/fd/1" "/proc/$pid/fd/2" | paste -sd" ")"
equal "its working directory is the root" "/" "$(readlink "/proc/$pid/cwd")"
check_status "a second mount on the same directory is refused" 9 'umount' "$realmfs" mount "$file" "$point"
check_status "umount of a busy mount says so" 9 'busy' bash -c 'cd "$1" && "$2" umount "$1"' - "$point" "$realmfs"
check "umount" "$realmfs" umount "$point"
check "umount is complete when the command returns" is_not_mounted "$point"
check "the process ends with the mount" wait_until 5 is_dead "$pid"
check_status "umount of what is no mount" 9 'nothing is mounted' "$realmfs" umount "$point"
check_status "umount of somebody else's mount" 9 'not of realmfs' "$realmfs" umount /proc

# Capturing the output must not wait for the background process.
check "\$(realmfs mount) returns" timeout 10 bash -c 'text=$("$1" mount "$2" "$3" 2>&1); [ -z "$text" ]' \
  - "$realmfs" "$file" "$point"
# The server has both ends of its own pipes.
equal "descriptors of the caller do not stay open" "" \
  "$(ls -l "/proc/$(pgrep -f "^$realmfs mount $file $point\$")/fd" | grep -o 'pipe:.*' | sort | uniq -u)"
check "umount --lazy of a busy mount" bash -c 'cd "$1" && "$2" umount --lazy "$1"' - "$point" "$realmfs"
check "it is gone" is_not_mounted "$point"

# A relative path keeps its meaning when the process changes its directory.
check "a relative file and mount point" bash -c 'cd "$1" && "$2" mount people.realm ./mnt' - "$scratch" "$realmfs"
cp "$file" "$scratch/new.realm" && mv "$scratch/new.realm" "$file"
equal "the file can be replaced by rename" "19" "$(ls "$point/Person" | wc -l)"
check "umount of a relative path" bash -c 'cd "$1" && "$2" umount mnt/' - "$scratch" "$realmfs"

for signal in TERM INT HUP; do
  serve "$file" "$point" || continue
  kill -$signal "$server"
  wait "$server"
  equal "SIG$signal ends a foreground mount with status 0" "0" "$?"
  check "SIG$signal unmounts" is_not_mounted "$point"
done

"$realmfs" mount "$file" "$point"
pid=$(pgrep -f "^$realmfs mount $file $point\$")
kill -TERM "$pid"
check "SIGTERM ends a background mount" wait_until 5 is_not_mounted "$point"

# After kill -9 the mount is dead; the next mount takes its place.
serve "$file" "$point"
crash_server
check_status "a dead mount answers ENOTCONN" 2 'not connected' ls "$point"
check "a stale mount of ours is detached first" "$realmfs" mount "$file" "$point"
equal "and the new one works" "19" "$(ls "$point/Person" | wc -l)"
equal "there is one mount, not two" "1" "$(grep -c " $point fuse.realmfs " /proc/self/mounts)"
check "umount" "$realmfs" umount "$point"
serve "$file" "$point"
crash_server
check "umount of a dead mount" "$realmfs" umount "$point"
check "it is gone" is_not_mounted "$point"

# fusermount3 opens the mount point to detect a dead server. If the kernel is ending the connection at that moment, it
# returns ECONNABORTED instead of ENOTCONN, and fusermount3 leaves the mount: 1 of 40 times.
for attempt in 1 2 3 4 5; do
  serve "$file" "$point" -o auto_unmount
  crash_server
  wait_until 5 is_not_mounted "$point" && break
  umount -l "$point"
done
check "-o auto_unmount: after a crash the mount goes by itself" test "$attempt" -lt 5

# Readiness for systemd.
cat >"$scratch/notify.py" <<'PYTHON'
import os, socket, subprocess, sys
path, command = sys.argv[1], sys.argv[2:]
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
    listener.bind("\0" + path[1:] if path[0] == "@" else path)
    listener.settimeout(10)
    process = subprocess.Popen(command, env={**os.environ, "NOTIFY_SOCKET": path})
    try:
        print(listener.recv(100).decode(), sorted(os.listdir(command[-1])))
    finally:
        process.terminate()
        process.wait(10)
PYTHON
for socket in "$scratch/notify.socket" "@realmfs-e2e-$$"; do
  equal "-f tells systemd READY=1 when the tree is live (${socket:0:1}...)" "READY=1 ['Dog', 'Person']" \
    "$(python3 "$scratch/notify.py" "$socket" "$realmfs" mount -f "$file" "$point" 2>&1)"
done

# A removed lock file: a mount that is the only user of the realm continues, and others can join.
kept=$(copy_fixture people)
serve "$kept" "$point" || exit
save() { echo "{\"age\": $1}" >"$point/Person/4.json"; }
check "a save" save 41
rm "$kept.lock"
check "a save after the lock file was removed" save 42
rm "$kept.lock"
check "another program makes a new one, and writes" timeout 8 "$realmfs" set "$kept" Person/4 age=43
equal "which the mount sees" 43 "$(jq .age "$point/Person/4.json")"
check "and goes on" save 44
: >"$kept.lock"
check "a lock file that was emptied is left, too" wait_until 10 save 45
for device in urandom zero; do
  dd if=/dev/$device of="$kept.lock" bs=1024 count=1 conv=notrunc status=none
  equal "a lock file that was overwritten with /dev/$device is left, too" 45 "$(jq .age "$point/Person/4.json")"
  check "and saves go on" save 45
  check "beside those of other programs" timeout 8 "$realmfs" set "$kept" Person/4 age=45
done
dd if=/dev/urandom of="$kept.lock" bs=1 seek=48 count=120 conv=notrunc status=none
check "one whose mutexes were overwritten is left, too" wait_until 10 save 45
stop_server "$point"
equal "all is there" 45 "$("$realmfs" cat "$kept" Person/4.json | jq .age)"
check "and sound" "$realmfs" check "$kept"

serve "$kept" "$point" -o group_commit=60000 || exit
check "saves that are not on disk yet" save 46
rm "$kept.lock"
check "come there when the lock file is removed, and saving goes on" save 47
: >"$kept.lock"
stop_server "$point"
equal "or when it is emptied and the mount ends" 47 "$("$realmfs" cat "$kept" Person/4.json | jq .age)"

# If several programs use the realm, saves are refused, and a shell's write reports it.
kept=$(copy_fixture people)
second=$(new_directory second)
"$realmfs" mount "$kept" "$point" && "$realmfs" mount "$kept" "$second" || not_ok "two mounts"
check "both use the realm" cat "$point/Person/4.json" "$second/Person/4.json"
rm "$kept.lock"
check_status "write reports that the lock file was removed" 1 'write error' \
  bash -c 'cat "$2" >/dev/null; echo "{\"age\": 48}" >"$1"' - "$point/Person/4.json" "$second/Person/4.json"
check "with the reason" grep -q 'the lock file was removed or overwritten' "$point/.realm/errors"
"$realmfs" umount --discard "$point" 2>/dev/null && "$realmfs" umount --discard "$second" || not_ok "umount"

# A copy in a folder where no file can be created is mounted read-only, and the mount reports this.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  mkdir "$scratch/closed" && chmod 755 "$scratch" "$scratch/closed"
  "$realmfs" backup "$fixtures/people.realm" "$scratch/closed/copy.realm" 2>/dev/null && chmod 666 "$scratch/closed/copy.realm"
  chmod 777 "$point" || not_ok "chmod"
  other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
  check_status "a copy in a folder that is write-protected" 0 'read-only: it is a copy, and files cannot be created beside it in .*closed' \
    other "$realmfs" mount "$scratch/closed/copy.realm" "$point"
  check_status "cannot be saved to" 1 'Read-only file system' other bash -c 'echo "{\"age\": 5}" >"$1"' - "$point/Person/4.json"
  check "umount" other "$realmfs" umount "$point"
fi

# A mount that fails leaves no files.
check_status "a mount point that does not exist" 9 'No such file' "$realmfs" mount "$file" "$scratch/absent"
check_status "a mount point that is a file" 9 'not a directory' "$realmfs" mount "$file" "$file"
check_status "a mount point that would hide the file" 9 'holds the realm file' "$realmfs" mount "$file" "$scratch"
check_status "a file that does not exist" 3 'No such file' "$realmfs" mount "$scratch/absent.realm" "$point"
check_status "the same in the foreground" 3 'No such file' "$realmfs" mount -f "$scratch/absent.realm" "$point"
check "nothing is mounted" is_not_mounted "$point"
check "no process is left" bash -c '! pgrep -f "^$1 mount .*$2"' - "$realmfs" "$scratch"
