#!/usr/bin/env bash
# Runs the tests of RealmSwift and RealmSync under the thread sanitizer, or under the address sanitizer with `address`,
# after checking that the sanitizer works. The builds are kept in .build; the first one takes minutes. ONLY=NAME
# selects tests.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-thread}
scratch=$PWD/.build/$kind
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
export REALMFS_TESTS="RealmSwiftTests RealmSyncTests" SWIFT_BACKTRACE=enable=no
export TSAN_OPTIONS=${TSAN_OPTIONS:-exitcode=66} ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
flags=(--sanitize="$kind" --scratch-path "$scratch" ${SWIFTFLAGS:-})

# A contended Mutex is handed over in the runtime library and in the kernel, which the sanitizer does not see: it is
# informed here; otherwise every access guarded by such a lock is reported. Nothing is suppressed.
if [ "$kind" = thread ]; then
  mkdir -p "$scratch"
  handle='$s15Synchronization12_MutexHandleV'
  cat >"$probe/mutex.c" <<C
#include <sanitizer/tsan_interface.h>
#include <stdbool.h>
#include <stdint.h>
#define SELF __attribute__((swift_context)) void *mutex
#define SWIFT __attribute__((swiftcall))
SWIFT void __real_${handle}9_lockSlowyys6UInt32VF(uint32_t thread, SELF);
SWIFT bool __real_${handle}12_tryLockSlowSbyF(SELF);
SWIFT void __real_${handle}11_unlockSlowyyF(SELF);
SWIFT void __wrap_${handle}9_lockSlowyys6UInt32VF(uint32_t thread, SELF) {
  __real_${handle}9_lockSlowyys6UInt32VF(thread, mutex);
  __tsan_acquire(mutex);
}
SWIFT bool __wrap_${handle}12_tryLockSlowSbyF(SELF) {
  bool isLocked = __real_${handle}12_tryLockSlowSbyF(mutex);
  if (isLocked) __tsan_acquire(mutex);
  return isLocked;
}
SWIFT void __wrap_${handle}11_unlockSlowyyF(SELF) {
  __tsan_release(mutex);
  __real_${handle}11_unlockSlowyyF(mutex);
}
C
  clang -c -O1 -fPIC -fsanitize=thread "$probe/mutex.c" -o "$scratch/mutex.o"
  flags+=(-Xlinker "$scratch/mutex.o")
  for call in 9_lockSlowyys6UInt32VF 12_tryLockSlowSbyF 11_unlockSlowyyF; do flags+=(-Xlinker "--wrap=$handle$call"); done
fi
swift build --build-tests "${flags[@]}"

# The sanitizer must report a planted error, or its silence would mean nothing.
if [ "$kind" = thread ]; then
  cat >"$probe/probe.swift" <<'SWIFT'
import Glibc
nonisolated(unsafe) var number = 0
var thread = pthread_t()
pthread_create(&thread, nil, { _ in for _ in 0..<3_000_000 { number += 1 }; return nil }, nil)
for _ in 0..<3_000_000 { number += 1 }
pthread_join(thread, nil)
SWIFT
else
  cat >"$probe/probe.swift" <<'SWIFT'
let memory = UnsafeMutablePointer<Int>.allocate(capacity: 1)
memory.deallocate()
print(memory.pointee)
SWIFT
fi
swiftc -sanitize="$kind" "$probe/probe.swift" -o "$probe/probe" 2>/dev/null
if "$probe/probe" >/dev/null 2>&1; then
  echo "tsan: the $kind sanitizer did not find the planted error" >&2
  exit 1
fi

swift test --skip-build "${flags[@]}" ${ONLY:+--filter "$ONLY"}
