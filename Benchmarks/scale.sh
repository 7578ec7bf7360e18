#!/bin/bash
# How costs grow with the number of objects: a line for each size, as docs/BENCHMARKS.md has them. What is fast takes the
# median of many runs, what reads everything is run once. A wrong answer ends the run.
#
#   scale.sh [SIZE..]       numbers of objects (1000 10000 100000 1000000 10000000)
#   REALMFS=PATH            the program (default: .build/release/realmfs)
#   TMPDIR=PATH             a directory on a local file system (default: /var/tmp)
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
realmfs=${REALMFS:-$here/../.build/release/realmfs}
[[ $# -gt 0 ]] || set -- 1000 10000 100000 1000000 10000000
[[ -x $realmfs ]] || { echo "scale: $realmfs is missing: run 'make release', or set REALMFS" >&2 && exit 1; }

work=$(mktemp -d "${TMPDIR:-/var/tmp}/realmfs-scale.XXXXXX")
mount=$work/mount
mkdir "$mount"
clean_up() {
  ! mountpoint -q "$mount" || umount "$mount" || return
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
fail() {
  echo "scale: $*" >&2
  exit 1
}

# timed CMD..: microseconds in `elapsed`.
timed() {
  local begin=$EPOCHREALTIME end
  "$@" || fail "$* failed"
  end=$EPOCHREALTIME
  elapsed=$((${end/./} - ${begin/./}))
}
median() { printf '%s\n' "$@" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
milliseconds() { awk -v t="$1" 'BEGIN { printf t < 100000 ? "%.1f" : "%.0f", t / 1000 }'; }

mount_it() { "$realmfs" mount "$realm" "$mount"; }
unmount_it() { "$realmfs" umount "$mount"; }
query() { [[ $("$realmfs" query --count "$realm" Item "_id == $1") == 1 ]]; }
list_head() { [[ $(ls -U "$mount/Item" | head -n 10 | wc -l) == 10 ]]; }
read_lines() { cat "$mount/Item/.all.jsonl" >"$work/lines"; }
check() { "$realmfs" check "$realm" >/dev/null; }
compact() { "$realmfs" compact "$realm" 2>/dev/null; }
# The microseconds that a program waits for one file of many, read or written, in the middle of 200.
one_file() {
  python3 - "$1" "$mount/Item" "$count" <<'EOF'
import os, random, sys, time
what, directory, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
random.seed(1)
times = []
for _ in range(200):
    path = f"{directory}/{random.randint(1, count)}.json"
    begin = time.perf_counter()
    if what == "read":
        with open(path, "rb") as file:
            assert file.read().startswith(b"{")
    else:
        with open(path, "wb") as file:
            file.write(b'{"quantity": %d}' % random.randint(0, 10000))
    times.append(time.perf_counter() - begin)
print(round(sorted(times)[100] * 1e6))
EOF
}

printf '%10s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n' \
  objects MB mount-ms read-us save-us query-ms head-ms lines-ms check-ms compact-ms resident-MB
for count in "$@"; do
  realm=$work/$count.realm
  python3 "$here/make_realm.py" "$count" "$realm" 2>/dev/null
  size=$(($(stat -c %s "$realm") / 1000000))
  mounts=() heads=() queries=()
  for _ in 1 2 3 4 5; do
    timed mount_it
    mounts+=("$elapsed")
    timed list_head
    heads+=("$elapsed")
    unmount_it
    timed query $((count / 2 + 1))
    queries+=("$elapsed")
  done
  "$realmfs" mount -f "$realm" "$mount" &
  process=$!
  until mountpoint -q "$mount"; do
    kill -0 "$process" 2>/dev/null || fail "the mount did not start"
    sleep 0.05
  done
  read_us=$(one_file read)
  save_us=$(one_file save)
  timed read_lines
  lines=$elapsed
  [[ $(wc -l <"$work/lines") == "$count" ]] || fail "not all lines are there"
  rm "$work/lines"
  # What is mapped of the realm counts as resident, too.
  resident=$(awk '$1 == "VmHWM:" { print int($2 / 1000) }' "/proc/$process/status")
  unmount_it
  wait "$process" || true
  timed check
  checked=$elapsed
  timed compact
  printf '%10s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n' "$count" "$size" "$(milliseconds "$(median "${mounts[@]}")")" \
    "$read_us" "$save_us" "$(milliseconds "$(median "${queries[@]}")")" "$(milliseconds "$(median "${heads[@]}")")" \
    "$(milliseconds "$lines")" "$(milliseconds "$checked")" "$(milliseconds "$elapsed")" "$resident"
  rm -rf "$realm" "$realm".*
done
