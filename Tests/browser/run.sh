#!/usr/bin/env bash
# Runs the tests of `realmfs browse` in a real browser: all of them and the hostile requests, or those named
# (`run.sh scrolling links`). Prints `ok`, `not ok` and `skip` lines and their numbers, and exits 1 if any failed. REALMFS
# is the program to test.
# Needs chromium and chromedriver; E2E_ALLOW_NO_BROWSER=1 skips the tests without them.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

for program in "${REALMFS:-}" .build/debug/realmfs .build/check/release/realmfs .build/release/realmfs; do
  if [ -x "$program" ]; then
    REALMFS=$(realpath "$program")
    break
  fi
done
export REALMFS
[ -x "${REALMFS:-}" ] || {
  echo "not ok - realmfs is not there; build it with 'make'"
  exit 1
}
if ! command -v chromedriver >/dev/null || ! command -v chromium >/dev/null; then
  echo "skip - chromium or chromedriver is absent (apt-get install chromium chromium-driver)"
  echo "0 passed, 0 failed"
  [ -n "${E2E_ALLOW_NO_BROWSER:-}" ]
  exit
fi
status=0
if [ $# -eq 0 ]; then python3 -B Tests/browser/attack.py || status=1; fi
python3 -B Tests/browser/page_tests.py "$@" || status=1
exit $status
