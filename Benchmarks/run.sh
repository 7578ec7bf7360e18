#!/bin/bash
# Compares the speed of realmfs with its peers and prints ratios: ours / peer, less is better. docs/BENCHMARKS.md
# explains each line. JSON lines go to standard output, progress and a table to standard error. Slow results do not fail
# the run; a wrong count of names, bytes or hits ends it.
#
#   BENCH_LIST=1000000      objects of the large realm (list, class, live, memory)
#   BENCH_OBJECTS=100000    objects that are read (cat, stat, grep)
#   BENCH_ROUNDS=3          runs of each side, alternating; the medians count
#   BENCH_COMMANDS=300000   objects that are imported, exported, compared and copied
#   BENCH_HUGE=0            objects of a huge realm that is mounted, such as 50000000 (2.9 GB); 0 leaves it out
#   BENCH_ONLY="cat grep"   only these measures
#   REALMFS=PATH            the program (default: .build/release/realmfs)
#   REALM2JSON=PATH         realm-core's realm2json, the peer of "class", "export" and "export-csv"
#   TMPDIR=PATH             a directory on a local file system (default: /var/tmp)
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
realmfs=${REALMFS:-$here/../.build/release/realmfs}
large=${BENCH_LIST:-1000000}
small=${BENCH_OBJECTS:-100000}
commands=${BENCH_COMMANDS:-300000}
huge=${BENCH_HUGE:-0}
rounds=${BENCH_ROUNDS:-3}
only=${BENCH_ONLY:-cat-frozen grep-frozen cat grep stat save small import import-csv export export-csv sort-int sort-text
  sort-int-10 sort-text-10 diff-equal diff-10 huge live memory list list-find class lines where by upsert blob insert
  differ share open backup}
only=${only//$'\n'/ }
engine=$(dirname "$realmfs")/WriteBench

say() { echo "bench: $*" >&2; }
fail() {
  say "$*"
  exit 1
}
wanted() { [[ " $only " == *" $1 "* ]]; }

[[ -x $realmfs ]] || fail "$realmfs is missing: run 'make release', or set REALMFS"

work=$(mktemp -d "${TMPDIR:-/var/tmp}/realmfs-bench.XXXXXX")
ours=$work/ours
peer=$work/peer
mkdir "$ours" "$peer"

unmount_all() {
  local directory
  for directory in "$ours" "$peer"; do
    mountpoint -q "$directory" || continue
    fusermount3 -u "$directory" 2>/dev/null || umount "$directory" || umount -l "$directory"
  done
}
clean_up() {
  unmount_all
  # Do not delete through a mount that could not be unmounted.
  mountpoint -q "$ours" || mountpoint -q "$peer" || rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# --- measuring -------------------------------------------------------------------------------------------------------

elapsed=0 # milliseconds of the last `timed`
output='' # and what it printed
timed() {
  local begin=$EPOCHREALTIME end
  output=$("$@")
  end=$EPOCHREALTIME
  elapsed=$(((${end/./} - ${begin/./} + 500) / 1000))
}

median() { printf '%s\n' "$@" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

rows=()
# report NAME OURS PEER UNIT TARGET WHAT [DIRECT]: TARGET is the desired ratio, DIRECT the time without FUSE.
report() {
  local ratio verdict direct=${7:-}
  ratio=$(awk -v a="$2" -v b="$3" 'BEGIN { printf "%.3f", a / (b > 0 ? b : 1) }')
  verdict=$(awk -v a="$ratio" -v b="$5" 'BEGIN { print a <= b ? "true" : "false" }')
  printf '{"name":"%s","ours":%s,"peer":%s,"direct":%s,"unit":"%s","ratio":%s,"target":%s,"met":%s}\n' \
    "$1" "$2" "$3" "${direct:-null}" "$4" "$ratio" "$5" "$verdict"
  rows+=("$(printf '%-12s %12s %12s %10s %7s %7s  %-4s %s' "$1" "$2 $4" "$3 $4" "${direct:+$direct $4}" \
    "$ratio" "$5" "$([[ $verdict == true ]] && echo yes || echo NO)" "$6")")
}

# --- measures --------------------------------------------------------------------------------------------------------

list_names() { ls -f "$1" | wc -l; }
find_names() { find "$1" -maxdepth 1 | wc -l; }
read_all() { find "$1" -type f -print0 | xargs -0 cat | wc -c; }
list_long() { ls -l "$1" | wc -l; }
search() { grep -r needle "$1" | wc -l; }

mount_ours() { "$realmfs" mount ${2:+-o "$2"} "$1" "$ours"; }
unmount_ours() { "$realmfs" umount "$ours"; }
mount_peer() { bindfs "$1" "$peer"; }
unmount_peer() { fusermount3 -u "$peer" 2>/dev/null || umount "$peer"; }

# compare NAME TARGET REALM FILES EXPECTED WHAT COMMAND: the same command on our mount of REALM and on bindfs over FILES.
# Each run has a separate mount, so the kernel has cached nothing of the tree; the underlying files are in the page cache
# after an uncounted run of each. The command also runs on FILES directly, for the time without FUSE. OPTIONS are those of
# our mount.
compare() {
  local name=$1 target=$2 realm=$3 files=$4 expected=$5 what=$6 command=$7 options=${8:-}
  local round our_times=() peer_times=() direct_times=()
  wanted "$name" && [[ -d $files ]] || return 0
  say "$name: $what"
  for ((round = 0; round <= rounds; round++)); do
    mount_ours "$realm" "$options"
    timed "$command" "$ours/Item"
    unmount_ours
    [[ $output == "$expected" ]] || fail "$name: the mount gave $output where $expected was expected"
    ((round == 0)) || our_times+=("$elapsed")
    mount_peer "$files"
    timed "$command" "$peer/Item"
    unmount_peer
    [[ $output == "$expected" ]] || fail "$name: bindfs gave $output where $expected was expected"
    ((round == 0)) || peer_times+=("$elapsed")
    timed "$command" "$files/Item"
    ((round == 0)) || direct_times+=("$elapsed")
  done
  report "$name" "$(median "${our_times[@]}")" "$(median "${peer_times[@]}")" ms "$target" "$what" \
    "$(median "${direct_times[@]}")"
}

# figure NAME OURS UNIT TARGET WHAT: a measure whose peer is not part of a run but in docs/BENCHMARKS.md.
figure() {
  printf '{"name":"%s","ours":%s,"peer":null,"direct":null,"unit":"%s","ratio":null,"target":%s,"met":null}\n' \
    "$1" "$2" "$3" "$4"
  rows+=("$(printf '%-12s %12s %12s %10s %7s %7s  %-4s %s' "$1" "$2 $3" - '' - "$4" - "$5")")
}

print_class() { "$realmfs" cat "$large_realm" Item >/dev/null; }
print_class_peer() { "$REALM2JSON" "$large_realm" >/dev/null; }

compare_class() {
  local round our_times=() peer_times=()
  wanted class || return 0
  if [[ ! -x ${REALM2JSON:-} ]]; then
    say "class: skipped; REALM2JSON does not name realm-core's realm2json"
    return 0
  fi
  say "class: all objects of one class as JSON, $large objects"
  for ((round = 0; round <= rounds; round++)); do
    timed print_class
    ((round == 0)) || our_times+=("$elapsed")
    timed print_class_peer
    ((round == 0)) || peer_times+=("$elapsed")
  done
  report class "$(median "${our_times[@]}")" "$(median "${peer_times[@]}")" ms 0.333 \
    "realmfs cat of $large objects / realm2json"
}

compare_live() {
  wanted live || return 0
  say "live: time until 'realmfs mount' returns"
  compare_mounts live 1.2 "$large_realm" "$large"
}

# compare_mounts NAME TARGET REALM OBJECTS: the time until REALM is mounted, compared with a realm of ten objects.
compare_mounts() {
  local round large_times=() tiny_times=()
  for ((round = 0; round <= 3 * rounds + 2; round++)); do
    timed_us mount_ours "$3"
    unmount_ours
    ((round == 0)) || large_times+=("$elapsed")
    timed_us mount_ours "$tiny_realm"
    unmount_ours
    ((round == 0)) || tiny_times+=("$elapsed")
  done
  report "$1" "$(median "${large_times[@]}")" "$(median "${tiny_times[@]}")" us "$2" "mount of $4 objects / mount of 10"
}

# As `timed`, in microseconds, and without a subshell around the command.
timed_us() {
  local begin=$EPOCHREALTIME end
  "$@"
  end=$EPOCHREALTIME
  elapsed=$((${end/./} - ${begin/./}))
}

measure_memory() {
  local process count=0 status
  wanted memory || return 0
  say "memory: resident set after reading $large objects"
  "$realmfs" mount -f "$large_realm" "$ours" &
  process=$!
  until mountpoint -q "$ours"; do
    kill -0 "$process" 2>/dev/null || fail "memory: the mount did not start"
    ((count++ < 200)) || fail "memory: the mount is not live after 10 s"
    sleep 0.05
  done
  read_all "$ours/Item" >/dev/null
  status=$(<"/proc/$process/status")
  unmount_ours
  wait "$process" || true
  field() { awk -v name="$1:" '$1 == name { print $2 }' <<<"$status"; }
  report memory "$(field VmRSS)" 40000 kB 1.0 \
    "resident set after reading $large objects / 40 MB (peak $(field VmHWM), anonymous $(field RssAnon))"
}

# --- names with a dot ------------------------------------------------------------------------------------------------

cat_lines() { cat "$ours/Item/.all.jsonl" >/dev/null; }
list_values() { ls -U "$ours/Item/.by/quantity" | wc -l; }
save_lines() { cat "$work/some-jsonl/Item.jsonl" >"$ours/Item/.all.jsonl"; }
copy_blob() { cp "$work/blob" "$ours/Photo/.fields/1/data"; }
copy_blob_peer() { cp "$work/blob" "$peer/data"; }
# The time until the first entry of a query's directory, in microseconds.
first_name() {
  python3 -c '
import os, sys, time
begin = time.monotonic()
entry = next(os.scandir(sys.argv[1]))
print(entry.name, round((time.monotonic() - begin) * 1e6))' "$ours/Item/.where/$1"
}

measure_lines() {
  local round our_times=() direct_times=() peer_times=() process status
  say "lines: a class as one file, $large objects"
  for ((round = 0; round <= rounds; round++)); do
    mount_ours "$large_realm"
    timed cat_lines
    ((round == 0)) || our_times+=("$elapsed")
    process=$(pgrep -nf "mount $large_realm")
    status=$(<"/proc/$process/status")
    unmount_ours
    timed print_class
    ((round == 0)) || direct_times+=("$elapsed")
    [[ ! -x ${REALM2JSON:-} ]] || timed print_class_peer
    ((round == 0)) || peer_times+=("$elapsed")
  done
  report lines "$(median "${our_times[@]}")" "$(median "${direct_times[@]}")" ms 1.15 \
    "cat .all.jsonl of $large objects / realmfs cat"
  [[ ! -x ${REALM2JSON:-} ]] || report lines-2 "$(median "${our_times[@]}")" "$(median "${peer_times[@]}")" ms 0.4 \
    "cat .all.jsonl of $large objects / realm2json"
  report lines-mem "$(awk '$1 == "VmHWM:" { print $2 }' <<<"$status")" 60000 kB 1.0 "peak of the resident set meanwhile / 60 MB"
}

measure_where() {
  local round times=() line
  say "where: the first name of a query by an index, of $large objects"
  mount_ours "$large_realm"
  for ((round = 0; round <= 3 * rounds; round++)); do
    line=$(first_name "_id == $((large / 2 + round))")
    [[ ${line% *} == $((large / 2 + round)).json ]] || fail "where: found $line"
    ((round == 0)) || times+=("${line#* }")
  done
  unmount_ours
  report where "$(median "${times[@]}")" 2000 us 1.0 "first name of a query by an index, $large objects / 2 ms"
}

measure_by() {
  local round our_times=() peer_times=() expected
  say "by: the values of a property with a search index and without, $large objects"
  cp "$large_realm" "$work/indexed.realm"
  mount_ours "$work/indexed.realm"
  jq '.properties.quantity = {"type": "int", "indexed": true}' "$ours/.realm/schema/Item.json" >"$work/Item.json"
  cp "$work/Item.json" "$ours/.realm/schema/Item.json"
  unmount_ours
  for ((round = 0; round <= rounds; round++)); do
    mount_ours "$large_realm"
    timed list_values
    expected=$output
    ((round == 0)) || peer_times+=("$elapsed")
    unmount_ours
    mount_ours "$work/indexed.realm"
    timed list_values
    [[ $output == "$expected" ]] || fail "by: $output values where $expected were expected"
    ((round == 0)) || our_times+=("$elapsed")
    unmount_ours
  done
  rm "$work/indexed.realm"
  report by "$(median "${our_times[@]}")" "$(median "${peer_times[@]}")" ms 0.5 \
    "$expected values of $large objects by an index / by asking all"
}

measure_upsert() {
  local round our_times=() peer_times=()
  make_command_files
  say "upsert: $commands lines written to .all.jsonl"
  for ((round = 0; round <= rounds; round++)); do
    before_command
    mount_ours "$work/new.realm"
    timed save_lines
    [[ $(<"$ours/Item/.count") == "$commands" ]] || fail "upsert: not all objects are there"
    unmount_ours
    ((round == 0)) || our_times+=("$elapsed")
    before_command
    timed import_lines
    ((round == 0)) || peer_times+=("$elapsed")
  done
  report upsert "$(median "${our_times[@]}")" "$(median "${peer_times[@]}")" ms 1.1 \
    "$commands lines into .all.jsonl / realmfs import"
}

measure_blob() {
  local round our_times=() peer_times=()
  say "blob: a file of 16 MB into a Data property"
  head -c 16000000 /dev/urandom >"$work/blob"
  printf '[{"name": "Photo", "primaryKey": "_id", "properties": {"_id": "int", "data": "data?"}}]' >"$work/photo.json"
  mkdir "$work/blobs"
  for ((round = 0; round <= rounds; round++)); do
    rm -f "$work/photo.realm"
    "$realmfs" create --schema "$work/photo.json" "$work/photo.realm"
    mount_ours "$work/photo.realm"
    echo '{}' >"$ours/Photo/1.json"
    timed copy_blob
    cmp "$work/blob" "$ours/Photo/.fields/1/data" || fail "blob: the property is not the file"
    unmount_ours
    ((round == 0)) || our_times+=("$elapsed")
    mount_peer "$work/blobs"
    timed copy_blob_peer
    sync "$work/blobs/data"
    unmount_peer
    ((round == 0)) || peer_times+=("$elapsed")
  done
  report blob "$(median "${our_times[@]}")" "$(median "${peer_times[@]}")" ms 3.0 "cp of 16 MB into a property / bindfs"
}

# Measures of the engine without a mount, on a separate realm, which commits change.
measure_engine() {
  local line
  wanted insert || wanted small || wanted differ || wanted share || wanted open || wanted save || return 0
  [[ -x $engine ]] || { say "$engine is missing: insert, small, differ, share, open and save are skipped" && return 0; }
  if wanted insert || wanted small || wanted differ; then
    say "insert: $large objects in one transaction"
    line=$("$engine" insert "$work/engine.realm" "$large" "$(wanted insert && echo "$rounds" || echo 0)")
    if wanted insert; then
      report insert $(($(grep insert-median <<<"$line" | line_field each_ns) * large / 1000000)) \
        $(($(grep sqlite-median <<<"$line" | line_field each_ns) * large / 1000000)) ms 1.0 \
        "$large objects in one transaction / the same rows in SQLite"
    fi
  fi
  if wanted small; then
    say "small: commits of one property"
    line=$("$engine" small "$work/engine.realm" 1500)
    report small $(($(grep '"small"' <<<"$line" | line_field each_ns) / 1000)) \
      $(($(grep small-bare <<<"$line" | line_field each_ns) / 1000)) us 1.15 \
      "a commit of one property / its writes and syncs alone"
  fi
  if wanted differ; then
    say "differ: objects that differ in two versions"
    cp "$work/engine.realm" "$work/engine-copy.realm"
    line=$("$engine" differ "$work/engine.realm" "$work/engine-copy.realm")
    say "$line"
    report differ $(($(grep '"differ-10"' <<<"$line" | line_field each_ns) / 100)) 5000 us 1.0 \
      "10 changed objects of $large / 5 ms"
    rm "$work/engine-copy.realm"
  fi
  wanted share || wanted open || wanted save || return 0
  "$engine" insert "$work/engine.realm" "$small" >/dev/null
  if wanted share; then
    say "share: commits in a shared realm and in one that is not"
    line=$("$engine" share "$work/engine.realm" 2100)
    report share $(($(grep commit-shared <<<"$line" | line_field each_ns) / 1000)) \
      $(($(grep commit-exclusive <<<"$line" | line_field each_ns) / 1000)) us 1.1 "a shared commit / an exclusive one"
  fi
  ! wanted save || measure_save
  if wanted open; then
    say "open: until the classes are known"
    line=$("$engine" open "$work/engine.realm" 300)
    report open $(($(grep open-shared <<<"$line" | line_field each_ns) / 1000)) 5000 us 1.0 \
      "opening $small objects, shared / 5 ms (immutable $(($(grep open-immutable <<<"$line" | line_field each_ns) / 1000)) us)"
  fi
}
# A shell's save of one property of one object, compared with the library's commit in the same realm.
measure_save() {
  local round each=() before=()
  say "save: one object through the mount"
  for ((round = 0; round < rounds; round++)); do
    mount_ours "$work/engine.realm"
    each+=("$(python3 - "$ours/Item/1.json" <<'PY'
import json, statistics, sys, time
path, times = sys.argv[1], []
text = json.load(open(path))
for i in range(400):
    text["score"] = float(i)
    data = json.dumps(text)
    begin = time.perf_counter_ns()
    with open(path, "w") as file: file.write(data)
    times.append(time.perf_counter_ns() - begin)
assert json.load(open(path))["score"] == 399.0
print(int(statistics.median(times[50:])) // 1000)
PY
    )")
    unmount_ours
    before+=("$(($("$engine" share "$work/engine.realm" 700 | grep commit-shared | line_field each_ns) / 1000))")
  done
  report save "$(median "${each[@]}")" "$(median "${before[@]}")" us 1.5 "a save through the mount / a shared commit"
}
line_field() { sed -E "s/.*\"$1\":([0-9]+).*/\1/"; }

# compare_commands NAME TARGET WHAT OURS PEER: two functions, alternating. The time of `before_command` does not count.
compare_commands() {
  local name=$1 target=$2 what=$3 ours=$4 peer=$5 round our_times=() peer_times=()
  say "$name: $what"
  for ((round = 0; round <= rounds; round++)); do
    before_command
    timed "$ours"
    ((round == 0)) || our_times+=("$elapsed")
    timed "$peer"
    ((round == 0)) || peer_times+=("$elapsed")
  done
  report "$name" "$(median "${our_times[@]}")" "$(median "${peer_times[@]}")" ms "$target" "$what"
}

# The inputs of the commands below: a realm, its text in two formats, and a realm with the same classes but no
# items.
make_command_files() {
  [[ -e $work/some.realm ]] && return 0
  say "making a realm of $commands objects and its exports"
  python3 "$here/make_realm.py" "$commands" "$work/some.realm" 2>/dev/null
  "$realmfs" export "$work/some.realm" "$work/some-jsonl"
  "$realmfs" export --format csv "$work/some.realm" "$work/some-csv"
  "$realmfs" schema "$work/some.realm" >"$work/some.json"
  "$realmfs" create --schema "$work/some.json" "$work/none.realm"
  "$realmfs" import "$work/none.realm" "$work/some-jsonl/Owner.jsonl"
}
before_command() {
  cp "$work/none.realm" "$work/new.realm"
  rm -f "$work/new.sqlite" "$work/copy.realm" "$work/copy"
}
import_lines() { "$realmfs" import "$work/new.realm" "$work/some-jsonl/Item.jsonl"; }
import_csv() { "$realmfs" import "$work/new.realm" "$work/some-csv/Item.csv"; }
# The same indexes as in the realm: one on the primary key, one for following links backwards.
import_peer() {
  sqlite3 "$work/new.sqlite" \
    "CREATE TABLE Item (_id INTEGER UNIQUE, name TEXT, quantity INTEGER, price REAL, active INTEGER, created TEXT,
       owner INTEGER);
     CREATE INDEX owners ON Item (owner);" \
    ".import --csv --skip 1 $work/some-csv/Item.csv Item"
}
export_lines() { "$realmfs" export --class Item "$work/some.realm" - >/dev/null; }
export_csv() { "$realmfs" export --format csv --class Item "$work/some.realm" - >/dev/null; }
export_peer() { "$REALM2JSON" "$work/some.realm" >/dev/null; }
back_up() { "$realmfs" backup "$work/some.realm" "$work/copy.realm" >/dev/null; }
# The copy is synced, like that of a backup.
back_up_peer() { cp "$work/some.realm" "$work/copy" && sync "$work/copy"; }

compare_all_commands() {
  local name
  for name in import import-csv export export-csv backup; do
    wanted "$name" || continue
    make_command_files
    case $name in
    import*)
      if ! command -v sqlite3 >/dev/null; then
        say "$name: skipped; sqlite3 is not installed"
      elif [[ $name == import ]]; then
        compare_commands import 1.0 "import of $commands JSON Lines / sqlite3 .import of CSV" import_lines import_peer
      else
        compare_commands import-csv 1.0 "import of $commands records of CSV / sqlite3 .import" import_csv import_peer
      fi
      ;;
    export*)
      if [[ ! -x ${REALM2JSON:-} ]]; then
        say "$name: skipped; REALM2JSON does not name realm-core's realm2json"
      elif [[ $name == export ]]; then
        compare_commands export 0.30 "export of $commands objects as JSON Lines / realm2json" export_lines export_peer
      else
        compare_commands export-csv 0.45 "export of $commands objects as CSV / realm2json" export_csv export_peer
      fi
      ;;
    backup) compare_commands backup 1.11 "backup of $commands objects / cp and sync" back_up back_up_peer ;;
    esac
  done
}

# --- sorting and comparing -------------------------------------------------------------------------------------------

sorted_keys() { "$realmfs" query --format csv --columns _id "$large_realm" Item "$1" | tail -n 1; }

# measure_sort NAME QUERY BASE WHAT: the additional time of QUERY over BASE, which prints as many objects unsorted. Its
# peer is realm-core's sort, which is not part of a run.
measure_sort() {
  local round times=() base_times=()
  say "$1: $4"
  for ((round = 0; round <= rounds; round++)); do
    timed sorted_keys "$2"
    [[ -n $output ]] || fail "$1: no object was found"
    ((round == 0)) || times+=("$elapsed")
    timed sorted_keys "$3"
    ((round == 0)) || base_times+=("$elapsed")
  done
  figure "$1" $(($(median "${times[@]}") - $(median "${base_times[@]}"))) ms 1.0 "$4, without reading and printing"
}

diff_realms() { "$realmfs" diff "$large_realm" "$work/other.realm" | wc -l || [[ ${PIPESTATUS[0]} == 1 ]]; }
diff_peer() { sqldiff "$work/large.sqlite" "$work/other.sqlite" | wc -l; }

# Two realms and two databases with the same rows; the second of each gets ten changes for diff-10.
measure_diff() {
  local name round our_times peer_times expected
  wanted diff-equal || wanted diff-10 || return 0
  command -v sqldiff >/dev/null || { say "diff: skipped; sqldiff is not installed" && return 0; }
  say "diff: making a copy of $large objects and two databases"
  "$realmfs" export --format csv "$large_realm" "$work/large-csv"
  "$realmfs" schema "$large_realm" >"$work/large.json"
  "$realmfs" create --schema "$work/large.json" "$work/other.realm"
  "$realmfs" import "$work/other.realm" "$work/large-csv/Owner.csv" 2>/dev/null
  "$realmfs" import "$work/other.realm" "$work/large-csv/Item.csv" 2>/dev/null
  sqlite3 "$work/large.sqlite" \
    "CREATE TABLE Item (_id INTEGER PRIMARY KEY, name TEXT, quantity INTEGER, price REAL, active INTEGER, created TEXT,
       owner INTEGER);" \
    ".import --csv --skip 1 $work/large-csv/Item.csv Item"
  rm -r "$work/large-csv"
  cp "$work/large.sqlite" "$work/other.sqlite"
  for name in diff-equal diff-10; do
    expected=0
    if [[ $name == diff-10 ]]; then
      expected=10
      for ((round = 1; round <= 10; round++)); do
        "$realmfs" set "$work/other.realm" "Item/$((round * large / 11))" quantity=77777 2>/dev/null
      done
      sqlite3 "$work/other.sqlite" \
        "UPDATE Item SET quantity = 77777 WHERE _id IN (SELECT value * $large / 11 FROM generate_series(1, 10))"
    fi
    wanted "$name" || continue
    our_times=() peer_times=()
    for ((round = 0; round <= rounds; round++)); do
      timed diff_realms
      ((round == 0)) || our_times+=("$elapsed")
      [[ $expected == 0 && $output == 0 || $expected != 0 && $output -ge $expected ]] \
        || fail "$name: $output lines of realmfs diff"
      timed diff_peer
      ((round == 0)) || peer_times+=("$elapsed")
      [[ $output == "$expected" ]] || fail "$name: $output lines of sqldiff"
    done
    report "$name" "$(median "${our_times[@]}")" "$(median "${peer_times[@]}")" ms 0.5 \
      "diff of two realms of $large objects, $expected differences / sqldiff of the same rows"
  done
  rm -rf "$work"/other.* "$work"/large.sqlite
}

# The mount of a huge realm, compared with that of ten objects.
measure_huge() {
  wanted huge && ((huge > 0)) || return 0
  say "huge: making a realm of $huge objects"
  python3 "$here/make_realm.py" "$huge" "$work/huge.realm" 2>/dev/null
  compare_mounts huge 1.5 "$work/huge.realm" "$huge"
  rm "$work/huge.realm"
}

# --- the realms and the files ----------------------------------------------------------------------------------------

large_realm=$work/large.realm
small_realm=$work/small.realm
tiny_realm=$work/tiny.realm
large_files=$work/large
small_files=$work/small

say "making realms in $work"
python3 "$here/make_realm.py" 10 "$tiny_realm" 2>/dev/null
for measure in cat-frozen grep-frozen cat stat grep; do wanted $measure && small_wanted=1; done
for measure in list list-find class live memory lines where by sort-int sort-text sort-int-10 sort-text-10 diff-equal \
  diff-10; do wanted $measure && large_wanted=1; done
[[ -z ${small_wanted:-} ]] || python3 "$here/make_realm.py" "$small" "$small_realm" 2>/dev/null
[[ -z ${large_wanted:-} ]] || python3 "$here/make_realm.py" "$large" "$large_realm" 2>/dev/null

if ! command -v bindfs >/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  say "installing bindfs"
  apt-get install -y -qq bindfs >/dev/null || true
fi
if command -v bindfs >/dev/null; then
  if wanted list || wanted list-find; then
    say "making $large empty files of the same names"
    mkdir -p "$large_files/Item"
    (cd "$large_files/Item" && seq -f '%.0f.json' "$large" | xargs touch)
  fi
  if [[ -n ${small_wanted:-} ]]; then
    say "copying $small objects to files"
    mkdir "$small_files"
    mount_ours "$small_realm"
    cp -r "$ours/Item" "$small_files/"
    unmount_ours
  fi
else
  say "bindfs is not installed: list, cat, stat and grep are skipped (apt-get install bindfs)"
fi
bytes=0 hits=0
if [[ -d $small_files ]]; then
  bytes=$(read_all "$small_files/Item")
  hits=$(search "$small_files/Item")
fi

# --- the run ---------------------------------------------------------------------------------------------------------

compare cat-frozen 0.40 "$small_realm" "$small_files" "$bytes" "find | xargs cat of $small objects, frozen / bindfs" \
  read_all frozen
compare grep-frozen 0.40 "$small_realm" "$small_files" "$hits" "grep -r over $small objects, frozen / bindfs" \
  search frozen
compare cat 0.55 "$small_realm" "$small_files" "$bytes" "find | xargs cat of $small objects / bindfs" read_all
compare grep 0.55 "$small_realm" "$small_files" "$hits" "grep -r over $small objects / bindfs" search
compare stat 0.20 "$small_realm" "$small_files" $((small + 1)) "ls -l of $small objects / bindfs" list_long
compare list 1.0 "$large_realm" "$large_files" $((large + 2)) "ls -f of $large names / bindfs" list_names
compare list-find 1.0 "$large_realm" "$large_files" $((large + 1)) "find -maxdepth 1 of $large names / bindfs" find_names
! wanted sort-int || measure_sort sort-int "SORT(quantity ASC)" TRUEPREDICATE "$large objects by an integer"
! wanted sort-text || measure_sort sort-text "SORT(name ASC)" TRUEPREDICATE "$large objects by a string"
! wanted sort-int-10 || measure_sort sort-int-10 "SORT(quantity ASC) LIMIT(10)" "LIMIT(10)" \
  "the first 10 of $large by an integer"
! wanted sort-text-10 || measure_sort sort-text-10 "SORT(name ASC) LIMIT(10)" "LIMIT(10)" \
  "the first 10 of $large by a string"
measure_diff
measure_huge
compare_class
compare_live
measure_memory
for measure in lines where by upsert; do ! wanted $measure || "measure_$measure"; done
! wanted blob || ! command -v bindfs >/dev/null || measure_blob
measure_engine
compare_all_commands

{
  echo
  printf '%-12s %12s %12s %10s %7s %7s  %-4s %s\n' measure ours peer direct ratio target met what
  printf '%s\n' "${rows[@]}"
} >&2
