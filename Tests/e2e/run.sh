#!/usr/bin/env bash
# Runs the end-to-end tests: all scripts beside it, or those named (`run.sh keys xattr`). Prints their lines, then
# `N passed, N failed`, and exits 1 if anything failed. REALMFS names the program to test.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

scripts=("$@")
if [ ${#scripts[@]} -eq 0 ]; then
  for script in *.sh; do
    case $script in run.sh | lib.sh) ;; *) scripts+=("${script%.sh}") ;; esac
  done
fi

if [ ! -e /dev/fuse ]; then
  echo "skip - /dev/fuse is absent: the end-to-end tests need FUSE (modprobe fuse)"
  echo "0 passed, 0 failed"
  [ -n "${E2E_ALLOW_NO_FUSE:-}" ]
  exit
fi

passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for script in "${scripts[@]}"; do
  start=$(date +%s%N)
  echo "# $script"
  timeout --kill-after=10 "${E2E_TIMEOUT:-300}" bash "./$script.sh" </dev/null 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  [ "$status" -eq 0 ] || echo "not ok - $script.sh ended with status $status" | tee -a "$log"
  passed=$((passed + $(grep -c '^ok - ' "$log")))
  failed=$((failed + $(grep -c '^not ok - ' "$log")))
  skipped=$((skipped + $(grep -c '^skip - ' "$log")))
  if ! grep -qE '^(ok|not ok|skip) - ' "$log"; then
    echo "not ok - $script.sh tested nothing"
    failed=$((failed + 1))
  fi
  echo "# $script: $((($(date +%s%N) - start) / 1000000)) ms"
done
[ $skipped -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
