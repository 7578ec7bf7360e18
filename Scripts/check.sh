#!/usr/bin/env bash
# Everything that a change must pass, in the order of what fails fastest. Each step says how long it took.
# With `--all`, also the mutants under the address sanitizer, which compiles the engine once more; the fuzzers of the other
# steps have that sanitizer, too.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

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

# Each of these keeps one processor busy, so they are made side by side: the program, and the engine with the fuzzers.
builds() {
  local fuzzer status=0
  Fuzz/run.sh --build >"$logs/fuzzer" 2>&1 &
  fuzzer=$!
  make --no-print-directory release || status=1
  wait $fuzzer || { status=1 && cat "$logs/fuzzer"; }
  return $status
}

logs=$(mktemp -d)
# shellcheck disable=SC2046
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$logs"' EXIT

step "style" make --no-print-directory lint
step "builds" builds
step "tidy" Scripts/tidy.sh
step "tests" make --no-print-directory test
step "examples" Scripts/examples.sh
step "end to end" Tests/e2e/run.sh
step "power cuts" Scripts/crash.sh
step "fuzzing" env FUZZ_SECONDS="${FUZZ_SECONDS:-60}" Fuzz/run.sh
[ "${1:-}" != --all ] || step "address sanitizer" Scripts/asan.sh
echo
echo "All checks passed in $((SECONDS - started)) s."
