#!/usr/bin/env bash
# Runs the end-to-end tests: all scripts in this directory, or those named (`run.sh keys xattr`). Prints their lines, then
# `N passed, N failed`, and exits 1 if any failed. REALMFS is the program to test.
#
# E2E_JOBS (3) scripts run concurrently, because most of them mostly wait; the lines of each appear when it ends. Scripts
# with a line `# alone: WHY` run one after another, after all others.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

scripts=("$@")
if [ ${#scripts[@]} -eq 0 ]; then
  for script in *.sh; do
    case $script in run.sh | lib.sh | *_lib.sh) ;; *) scripts+=("${script%.sh}") ;; esac
  done
fi

if [ ! -e /dev/fuse ]; then
  echo "skip - /dev/fuse is absent: the end-to-end tests need FUSE (modprobe fuse)"
  echo "0 passed, 0 failed"
  [ -n "${E2E_ALLOW_NO_FUSE:-}" ]
  exit
fi

jobs=${E2E_JOBS:-3}
[ ${#scripts[@]} -gt 1 ] || jobs=1
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# run SCRIPT: prints its lines, then its result.
run() {
  local start status
  start=$(date +%s%N)
  echo "# $1"
  timeout --kill-after=10 "${E2E_TIMEOUT:-300}" bash "./$1.sh" </dev/null 2>&1
  status=$?
  [ $status -eq 0 ] || echo "not ok - $1.sh ended with status $status"
  echo "# $1: $((($(date +%s%N) - start) / 1000000)) ms"
}

# run_beside SCRIPT: the same while others run; its lines appear together.
run_beside() {
  run "$1" >"$logs/$1"
  flock "$logs" cat "$logs/$1"
}

together=() alone=()
for script in "${scripts[@]}"; do
  if [ "$jobs" -gt 1 ] && ! grep -qs '^# alone: ' "$script.sh"; then together+=("$script"); else alone+=("$script"); fi
done
for script in "${together[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  run_beside "$script" &
done
wait
for script in "${alone[@]}"; do run "$script" | tee "$logs/$script"; done

count() { cat "$logs"/* | grep -c "^$1 - "; }
passed=$(count ok) failed=$(count "not ok") skipped=$(count skip)
for script in "${scripts[@]}"; do
  if ! grep -qE '^(ok|not ok|skip) - ' "$logs/$script"; then
    echo "not ok - $script.sh tested nothing"
    failed=$((failed + 1))
  fi
done
[ "$failed" -eq 0 ] || { echo "What failed:" && grep -h "^not ok - " "$logs"/*; }
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
