#!/usr/bin/env bash
# .realm/changes: the changes of each commit as it is made.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
# The folder of the pipes that readers wait on.
XDG_RUNTIME_DIR=$(new_directory runtime)
export XDG_RUNTIME_DIR
serve "$file" "$point" || exit
changes=$point/.realm/changes
has() { grep -q "$2" "$scratch/$1"; }
# readers N: true if N programs wait and the mount has opened the other end of each of their pipes.
readers() {
  [ "$(find /proc/[0-9]*/fd -lname "$XDG_RUNTIME_DIR/*(deleted)" 2>/dev/null | wc -l)" -ge $(($1 * 2)) ]
}

cat "$changes" >"$scratch/cat" 2>"$scratch/cat_errors" &
cat=$!
jq --unbuffered -c . "$changes" >"$scratch/jq" 2>/dev/null &
jq=$!
background+=("$cat" "$jq")
check "two readers wait" wait_until 10 readers 2
check "an object changes" bash -c 'echo "{\"age\": 77}" >"$1/Person/4.json"' - "$point"
check "one comes by another program" "$realmfs" insert --quiet "$file" Dog '{"name": "Snoopy", "weight": 3}'
check "and one goes" rm "$point/Person/11.json"
for reader in cat jq; do
  check "$reader has the last change" wait_until 20 has $reader '"op":"delete"'
  equal "$reader has each change once" "insert Dog Snoopy|delete Person 11|" \
    "$(jq -r 'select(.op != "update") | "\(.op) \(.class) \(.key)"' "$scratch/$reader" | tr '\n' '|')"
done
equal "with what it was before and after" '{"age":21} {"age":77}' \
  "$(jq -r 'select(.op == "update" and .key == 4) | "\(.before) \(.after)"' "$scratch/cat")"

# Readers that wait do not keep the mount busy: with more of them than it has threads, it still answers.
for _ in $(seq 40); do
  cat "$changes" >/dev/null 2>&1 &
  background+=($!)
done
check "40 more readers wait" wait_until 10 readers 42
check "the mount answers all the same" timeout 20 cat "$point/Person/4.json"

timeout -s INT 1 cat "$changes" >/dev/null
equal "a signal ends a read" 124 $?
cat >"$scratch/poll.py" <<'EOF'
import os, select, subprocess, sys
point = sys.argv[1]
handle = os.open(point + "/.realm/changes", os.O_RDONLY | os.O_NONBLOCK)
try:
    os.read(handle, 100)
    sys.exit("nothing changed, but something was read")
except BlockingIOError:
    pass
poll = select.poll()
poll.register(handle, select.POLLIN)
assert poll.poll(100) == [], "nothing changed, but poll says so"
writer = subprocess.Popen(["sh", "-c", "echo '{\"age\": 78}' > " + point + "/Person/4.json"])
assert poll.poll(20000) == [(handle, select.POLLIN)], "poll does not end"
assert b'"after":{"age":78}' in os.read(handle, 4096)
writer.wait()
EOF
check "without waiting: EAGAIN; poll ends when there is something" timeout 30 python3 "$scratch/poll.py" "$point"
# Only root can open it for writing. What root writes is discarded, or fails with EPIPE.
check "a program that writes to it does not wait" timeout 20 bash -c 'trap "" PIPE; echo >"$1"; true' - "$changes"
stat "$changes" >/dev/null
check "looking at it leaves no reader" readers 42

# A waiting program and the mount can be frozen together, as before a suspend to disk or memory.
group=$(awk '$3 == "cgroup" && $4 ~ /freezer/ {print $2; exit}' /proc/self/mounts)
[ -n "$group" ] || group=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)
group=$group/realmfs-$$
if mkdir "$group" 2>/dev/null && echo "$server" >"$group/cgroup.procs" && echo "$cat" >"$group/cgroup.procs"; then
  if [ -e "$group/freezer.state" ]; then
    freeze() { echo FROZEN >"$group/freezer.state"; }
    is_frozen() { grep -q FROZEN "$group/freezer.state"; }
    thaw() { echo THAWED >"$group/freezer.state"; }
  else
    freeze() { echo 1 >"$group/cgroup.freeze"; }
    is_frozen() { grep -q 'frozen 1' "$group/cgroup.events"; }
    thaw() { echo 0 >"$group/cgroup.freeze"; }
  fi
  freeze
  check "reader and mount can be frozen together" wait_until 20 is_frozen
  thaw
  check "and go on" timeout 20 bash -c 'echo "{\"age\": 79}" >"$1"' - "$point/Person/4.json"
  check "the reader has what came after" wait_until 20 has cat '"after":{"age":79}'
  while read -r pid; do echo "$pid"; done <"$group/cgroup.procs" | while read -r pid; do
    echo "$pid" >"${group%/*}/cgroup.procs"
  done
  rmdir "$group"
else
  skip "no control group that freezes programs"
fi

# A reader that does not read keeps no version in use: space is reused.
exec 4<"$changes"
churn() { for i in $(seq 150); do echo "{\"age\": $i, \"name\": \"$(printf '%01000d' "$i")\"}" >"$point/Person/18.json" || return; done; }
# Two seconds after its buffer is full, the reader no longer makes the file grow.
has_stopped_growing() {
  churn
  local first
  first=$(stat -c %s "$file")
  churn && churn && [ "$first" = "$(stat -c %s "$file")" ]
}
for _ in 1 2 3 4 5 6; do churn; done
sleep 2.5
check "the file does not grow because of one that sleeps" wait_until 30 has_stopped_growing
exec 4<&-

# When the mount ends, waiting readers get the end of the file.
has_all() { [ "$(tail -n 1 "$scratch/cat" | jq .version)" = "$(cat "$point/.realm/version")" ]; }
check "cat has all lines" wait_until 20 has_all
kill -TERM "$server"
wait "$server"
check "its end ends the readers" wait_until 20 is_dead "$cat"
wait "$cat"
equal "as the end of a file" 0 $?
check "all of them" wait_until 20 is_dead "$jq"
wait

# The next mount removes the folder of a killed mount.
serve "$file" "$point" || exit
readlink "$changes" >/dev/null
abandoned=$(echo "$XDG_RUNTIME_DIR"/realmfs-*)
kill -KILL "$server"
wait "$server" 2>/dev/null
umount -l "$point"
check "a mount that was killed leaves the folder of its pipes" test -d "$abandoned"
mkdir -m 711 "$XDG_RUNTIME_DIR/realmfs-others" && touch "$XDG_RUNTIME_DIR/realmfs-others/file"
serve "$file" "$point" || exit
readlink "$changes" >/dev/null
check "the next one removes it" test ! -e "$abandoned"
check "and leaves what is not a pipe" test -e "$XDG_RUNTIME_DIR/realmfs-others/file"
other=$(new_directory other)
"$realmfs" mount --immutable "$file" "$other" && umount "$other"
own=$(dirname "$(readlink "$changes")")
cp "$file" "$scratch/copy.realm"
check "another mount" "$realmfs" mount "$scratch/copy.realm" "$other"
readlink "$other/.realm/changes" >/dev/null
check "leaves the folder of one that runs" test -d "$own"
check "umount" umount "$other"
stop_server "$point"
check_status "the realm is sound" 0 sound "$realmfs" check "$file"
