# Sourced by every test script here: a scratch directory, mounts that are always removed, and the lines `ok`, `not ok`
# and `skip` that run.sh counts. A script continues after a failure, so that one run reports everything.
# shellcheck shell=bash disable=SC2034
set -uo pipefail
export LC_ALL=C.UTF-8

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
fixtures=$repository/Tests/Fixtures
# Further fixtures and a second engine, which not every checkout has.
shared=$repository/../shared
realmfs=${REALMFS:-$repository/.build/release/realmfs}
[ -x "$realmfs" ] || {
  echo "not ok - $realmfs is not there; build it with 'make release'"
  exit 1
}
key_file=$fixtures/encrypted.key.hex

scratch=$(mktemp -d "${TMPDIR:-/tmp}/realmfs-e2e.XXXXXX")
# The directory where mounts write unsaved files.
export XDG_STATE_HOME=$scratch/state
background=()
# Opening a file for writing may change it, so tests use a copy.
cp -r "$fixtures" "$scratch/fixtures"
fixtures=$scratch/fixtures

# shellcheck disable=SC2329
clean_up() {
  cd /
  local pid
  for pid in "${background[@]}"; do
    { kill -9 "$pid" && wait "$pid"; } 2>/dev/null
  done
  # The innermost mounts are last in the table and are unmounted first.
  awk '{print $2}' /proc/self/mounts | grep "^$scratch" | tac | while read -r point; do
    umount -l "$point" 2>/dev/null || fusermount3 -uz "$point" 2>/dev/null
  done
  chmod -R u+w "$scratch" 2>/dev/null
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

ok() { echo "ok - $*"; }
not_ok() { echo "not ok - $*"; }
skip() { echo "skip - $*"; }

# check WHAT COMMAND...: the command succeeds.
check() {
  local what=$1 output status
  shift
  output=$("$@" 2>&1)
  status=$?
  if [ $status -eq 0 ]; then ok "$what"; else not_ok "$what: status $status: ${output:0:600}"; fi
}

# check_status WHAT STATUS PATTERN COMMAND...: the command ends with STATUS and its output matches the pattern.
check_status() {
  local what=$1 expected=$2 pattern=$3 output status
  shift 3
  output=$("$@" 2>&1 </dev/null)
  status=$?
  if [ $status -ne "$expected" ]; then
    not_ok "$what: status $status instead of $expected: ${output:0:600}"
  elif ! grep -qE -- "$pattern" <<<"$output"; then
    not_ok "$what: output does not match /$pattern/: ${output:0:600}"
  else
    ok "$what"
  fi
}

# equal WHAT EXPECTED ACTUAL
equal() {
  if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1: expected '${2:0:600}', found '${3:0:600}'"; fi
}

# wait_until SECONDS COMMAND...: polls until the command succeeds.
wait_until() {
  local rounds=$(($1 * 20))
  shift
  while ! "$@" >/dev/null 2>&1; do
    rounds=$((rounds - 1))
    [ $rounds -gt 0 ] || return 1
    sleep 0.05
  done
}

is_mounted() { grep -q " $1 fuse.realmfs " /proc/self/mounts; }
is_not_mounted() { ! is_mounted "$1"; }
is_mounted_or_over() { is_mounted "$1" || is_dead "$server"; }
is_dead() { ! kill -0 "$1" 2>/dev/null; }

# copy_fixture NAME: a writable copy in the scratch directory; prints its path.
copy_fixture() {
  cp "$fixtures/$1.realm" "$scratch/$1.realm" && chmod 644 "$scratch/$1.realm" && echo "$scratch/$1.realm"
}

# new_directory NAME: an empty directory in the scratch directory; prints its path.
new_directory() { mkdir -p "$scratch/$1" && echo "$scratch/$1"; }

# serve FILE MOUNTPOINT [OPTION]...: mounts in the foreground of a background process; its id is in $server.
serve() {
  local file=$1 point=$2
  shift 2
  serve_at "$point" "$@" "$file"
}

# serve_at MOUNTPOINT ARGUMENT...: the same with all arguments that precede the mount point.
serve_at() {
  local point=$1
  shift
  # The shell starts background jobs with SIGINT ignored, and programs respect that.
  env --default-signal=INT "$realmfs" mount -f "$@" "$point" >"$scratch/server.log" 2>&1 &
  server=$!
  background+=("$server")
  wait_until 20 is_mounted_or_over "$point"
  if ! is_mounted "$point" || ! wait_until 20 test -d "$point/.realm"; then
    not_ok "mount $*: $(cat "$scratch/server.log")"
    return 1
  fi
}

# crash_server: kills the last `serve` with SIGKILL. Waiting suppresses the shell's message about it.
crash_server() { { kill -9 "$server" && wait "$server"; } 2>/dev/null; }

# stop_server MOUNTPOINT: ends the last `serve`.
stop_server() {
  "$realmfs" umount --discard "$1" || umount -l "$1"
  wait "$server" 2>/dev/null
}
