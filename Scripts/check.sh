#!/usr/bin/env bash
# Everything that a change must pass, fastest failures first. Each step prints its duration. The program, the tests and
# the power-cut tools are built once, optimized, in .build/check. With `--all`, also runs the long tests and builds the
# program as it is shipped: before a release.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

tree=$PWD/.build/check
export SWIFTFLAGS="-c release -Xswiftc -enable-testing --scratch-path $tree ${SWIFTFLAGS:-}"
export REALMFS=$tree/release/realmfs
export EDIT_LOOP=$tree/release/EditLoop MUTANT_FILES=$tree/release/MutantFiles SYNC_SERVER=$tree/release/SyncServer
started=$SECONDS
step() {
  local name=$1 start=$SECONDS
  shift
  printf '\n==> %s\n' "$name"
  if "$@"; then
    echo "==> $name: passed in $((SECONDS - start)) s"
  else
    echo "==> $name: FAILED after $((SECONDS - start)) s"
    exit 1
  fi
}

step "style" Scripts/lint.sh
# shellcheck disable=SC2086
step "builds" ${SWIFT:-swift} build --build-tests $SWIFTFLAGS
step "tidy" Scripts/tidy.sh
# `swift test` would recompile everything: it passes -enable-testing itself.
step "tests" env TEST_FLAGS=--skip-build Scripts/test.sh
step "examples" Scripts/examples.sh
step "end to end" Tests/e2e/run.sh
step "browser" Tests/browser/run.sh
smoke=(CRASH_STATES=1000 CRASH_SEEDS=20 CRASH_PROCESSES=1 CRASH_DISKS=2 CRASH_SHUTDOWNS=1)
step "power cuts, a few" env CRASH_BIN="$tree/release" "${smoke[@]}" Scripts/crash.sh
if [ "${1:-}" = --all ]; then
  unset SWIFTFLAGS
  step "power cuts" env CRASH_BIN="$tree/release" Scripts/crash.sh
  step "fuzzing" env FUZZ_SECONDS="${FUZZ_SECONDS:-60}" Fuzz/run.sh
  step "address sanitizer" Scripts/asan.sh
  step "the program as it is shipped" make --no-print-directory release
  step "end to end, as it is shipped" env REALMFS="$PWD/.build/release/realmfs" Tests/e2e/run.sh
fi
echo
echo "All checks passed in $((SECONDS - started)) s."
