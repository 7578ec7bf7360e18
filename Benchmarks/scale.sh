#!/bin/bash
# How costs grow with the number of objects: a line of times and a line of memory for each size, as in docs/BENCHMARKS.md.
# Fast operations take the median of many runs, those that read everything run once. A wrong result ends the run.
#
#   scale.sh [SIZE..]       numbers of objects (10 1000 10000 100000 1000000 10000000)
#   REALMFS=PATH            the program (default: .build/release/realmfs)
#   REALMS=PATH             a directory with realms SIZE.realm of make_realm.py, used instead of making them
#   TMPDIR=PATH             a directory on a local file system (default: /var/tmp)
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
realmfs=${REALMFS:-$here/../.build/release/realmfs}
[[ $# -gt 0 ]] || set -- 10 1000 10000 100000 1000000 10000000
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

# timed CMD..: sets `elapsed` to microseconds.
timed() {
  local begin=$EPOCHREALTIME end
  "$@" || fail "$* failed"
  end=$EPOCHREALTIME
  elapsed=$((${end/./} - ${begin/./}))
}
# weighed CMD..: one program: microseconds in `elapsed`, the peak of its resident set in MB in `peak`. Mapped pages of the
# realm count as resident, too.
weighed() {
  read -r elapsed peak < <(python3 - "$@" <<'EOF'
import resource, subprocess, sys, time
begin = time.monotonic()
with open("/dev/null", "wb") as null:
    code = subprocess.run(sys.argv[1:], stdout=null, stderr=null).returncode
elapsed = time.monotonic() - begin
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(round(elapsed * 1e6), -(-peak // 1000) if code == 0 else 0)
EOF
  )
  ((peak > 0)) || fail "$* failed"
}
median() { printf '%s\n' "$@" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
milliseconds() { awk -v t="$1" 'BEGIN { printf t < 100000 ? "%.1f" : "%.0f", t / 1000 }'; }

mount_it() { "$realmfs" mount "$realm" "$mount"; }
unmount_it() { "$realmfs" umount "$mount"; }
query() { [[ $("$realmfs" query --count "$realm" Item "_id == $1") == 1 ]]; }
first_names() { [[ $(ls -U "$mount/Item" | head -n 5 | wc -l) == 5 ]]; }
first_found() { [[ $(find "$mount/Item" | head -n 5 | wc -l) == 5 ]]; }
all_names() { [[ $(find "$mount/Item" -name '*.json' | wc -l) == "$count" ]]; }
first_lines() { [[ $(head -n 5 "$mount/Item/.all.jsonl" | wc -l) == 5 ]]; }
all_lines() { [[ $(cat "$mount/Item/.all.jsonl" | wc -l) == "$count" ]]; }
lines_size() { stat -c %s "$mount/Item/.all.jsonl" >/dev/null; }
# Seeks back to an earlier position of a listing, and finds the same names again.
listing_place() {
  python3 - "$mount/Item" <<'EOF'
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype, libc.readdir.restype, libc.telldir.restype = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long
directory = ctypes.c_void_p(libc.opendir(sys.argv[1].encode()))
def name():
    entry = libc.readdir(directory)
    return ctypes.string_at(entry + 19) if entry else None
for _ in range(7):
    name()
place = libc.telldir(directory)
first = [name() for _ in range(5000)]
libc.seekdir(directory, ctypes.c_long(place))
assert [name() for _ in range(5000)] == first
EOF
}
# The median time of 200 reads or writes of one file of many, in microseconds.
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

row='%10s %7s %9s %9s %9s %9s %9s %9s %9s %10s %10s %9s %9s %9s\n'
printf "$row" objects MB mount read-us save-us query ls-head find-head find lines-head lines size check compact
for count in "$@"; do
  realm=${REALMS:-$work}/$count.realm
  [[ -e $realm ]] || python3 "$here/make_realm.py" "$count" "$realm" 2>/dev/null
  size=$(($(stat -c %s "$realm") / 1000000))
  mounts=() heads=() founds=() queries=()
  for _ in 1 2 3 4 5; do
    timed mount_it
    mounts+=("$elapsed")
    timed first_names
    heads+=("$elapsed")
    timed first_found
    founds+=("$elapsed")
    unmount_it
    timed query $((count / 2 + 1))
    queries+=("$elapsed")
  done
  weighed "$realmfs" query --count "$realm" Item "_id == $((count / 2 + 1))"
  query_peak=$peak
  "$realmfs" mount -f "$realm" "$mount" &
  process=$!
  until mountpoint -q "$mount"; do
    kill -0 "$process" 2>/dev/null || fail "the mount did not start"
    sleep 0.05
  done
  resident() { awk '$1 == "VmHWM:" { print int($2 / 1000) + 1 }' "/proc/$process/status"; }
  listing_place || fail "a listing goes on elsewhere than where it was"
  read_us=$(one_file read)
  save_us=$(one_file save)
  save_peak=$(resident)
  timed all_names
  names=$elapsed names_peak=$(resident)
  timed first_lines
  lines_head=$elapsed
  timed all_lines
  lines=$elapsed
  timed lines_size
  lines_size=$elapsed lines_peak=$(resident)
  unmount_it
  wait "$process" || true
  weighed "$realmfs" check "$realm"
  checked=$elapsed check_peak=$peak
  weighed "$realmfs" compact "$realm"
  printf "$row" "$count" "$size" "$(milliseconds "$(median "${mounts[@]}")")" "$read_us" "$save_us" \
    "$(milliseconds "$(median "${queries[@]}")")" "$(milliseconds "$(median "${heads[@]}")")" \
    "$(milliseconds "$(median "${founds[@]}")")" "$(milliseconds "$names")" "$(milliseconds "$lines_head")" \
    "$(milliseconds "$lines")" "$(milliseconds "$lines_size")" "$(milliseconds "$checked")" \
    "$(milliseconds "$elapsed")"
  printf "$row" peak-MB '' '' '' "$save_peak" "$query_peak" '' '' "$names_peak" '' "$lines_peak" '' "$check_peak" \
    "$peak"
  [[ -n ${REALMS:-} ]] || rm -rf "$realm" "$realm".*
done
