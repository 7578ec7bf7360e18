#!/usr/bin/env bash
# Runs the unit, golden and command tests, and repeats the failures at the end of the long output. TEST_FLAGS are
# additional options of `swift test`, such as --skip-build.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
${SWIFT:-swift} test ${SWIFTFLAGS:-} ${TEST_FLAGS:-} 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" != 0 ]; then
  printf '\nWhat failed:\n'
  grep -aE '✘|↳|Fatal error|error: ' "$log" | cut -c1-500 | tail -n 60
fi
exit "$status"
