#!/usr/bin/env bash
# Runs the tests of damaged files under the address sanitizer, after checking that the sanitizer works. MUTANTS (30)
# sets the number of mutants of each fixture, SEED the first of them; FIXTURES (text,text) restricts the run to some
# files. The build is optimized, like the shipped program; debug builds are far too slow for many mutants.
# With `--build`, only builds.
set -euo pipefail
cd "$(dirname "$0")/.."

export MUTANTS=${MUTANTS:-30}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:abort_on_error=0}
export SWIFT_BACKTRACE=enable=no

flags=(-c release -Xswiftc -enable-testing --sanitize=address --scratch-path .build/asan ${SWIFTFLAGS:-})
export REALMFS_TESTS=MutantTests
swift build --build-tests "${flags[@]}"
[ "${1:-}" != --build ] || exit 0

# The sanitizer must report a planted error, or its silence would mean nothing.
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
cat >"$probe/probe.swift" <<'SWIFT'
let memory = UnsafeMutablePointer<Int>.allocate(capacity: 1)
memory.deallocate()
print(memory.pointee)
SWIFT
swiftc -sanitize=address "$probe/probe.swift" -o "$probe/probe" 2>/dev/null
if "$probe/probe" >/dev/null 2>&1; then
  echo "asan: the address sanitizer did not find the planted error" >&2
  exit 1
fi

swift test --skip-build "${flags[@]}"
