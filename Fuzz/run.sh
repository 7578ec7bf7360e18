#!/usr/bin/env bash
# Builds the fuzzer and runs it for FUZZ_SECONDS (60). Seeds are the small fixtures; what the fuzzer learns stays in
# .build/fuzz/corpus, and an input that crashes in .build/fuzz/crashes. Exit status 0 means that nothing crashed.
#
#   Fuzz/run.sh                 build and fuzz
#   Fuzz/run.sh --build         build only
#   Fuzz/run.sh FILE...         run single inputs, as when a crash is looked into
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
root=$PWD
work=$root/.build/fuzz
export SWIFT_BACKTRACE=enable=no
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}

# The C helpers, threads and the engine under their own names, and the target with what it shares with the tests.
build() {
  echo "fuzz: building" >&2
  rm -rf "$work/objects"
  mkdir -p "$work/CLinux" "$work/objects"
  printf 'module CLinux { umbrella "%s" export * }\n' "$root/Sources/CLinux/include" >"$work/CLinux/module.modulemap"
  local flags=(-swift-version 6 -package-name realmfs -parse-as-library -O -wmo -g "-sanitize=fuzzer,address"
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault
    -enable-upcoming-feature MemberImportVisibility
    -I "$work/CLinux" -I "$root/Sources/COpenSSL" -I "$root/Sources/CIntelDecimal" -I "$work")
  local helper module files
  for helper in Sources/CLinux/*.c; do
    clang -O1 -g -fsanitize=address -I Sources/CLinux/include -c "$helper" -o "$work/objects/$(basename "$helper").o"
  done
  for module in Threads RealmPages; do
    mapfile -t files < <(find "$root/Sources/$module" -name '*.swift' | sort)
    (cd "$work/objects" && swiftc "${flags[@]}" -module-name $module -num-threads "$(nproc)" \
      -emit-module -emit-module-path "$work/$module.swiftmodule" -c "${files[@]}")
  done
  # The linker warns of each symbol of the sanitizer that it does not export.
  swiftc "${flags[@]}" -module-name FuzzOpen Fuzz/FuzzOpen.swift \
    Tests/TestSupport/{SplitMix64,Mutator,ObjectWalk}.swift "$work"/objects/*.o \
    -lcrypto -lbidgcc000 -o "$work/fuzz-open" 2> >(grep -v 'Cannot export local symbol' >&2)
}

sources=(Fuzz Sources/RealmPages Sources/Threads Sources/CLinux Tests/TestSupport)
if [ ! -x "$work/fuzz-open" ] || [ -n "$(find "${sources[@]}" -newer "$work/fuzz-open" -print -quit)" ]; then
  build
fi

[ "${1:-}" != --build ] || exit 0
if [ $# -gt 0 ]; then
  exec "$work/fuzz-open" "$@"
fi

mkdir -p "$work/corpus" "$work/crashes" "$work/seeds"
for seed in Tests/Fixtures/*.realm ../shared/fixtures/sdk/*.realm; do
  # The second folder can be absent; an encrypted seed is noise.
  if [ -f "$seed" ] && [ "$(stat -c %s "$seed")" -le 40960 ] && [[ $seed != *encrypted* ]]; then
    install -m 644 "$seed" "$work/seeds/"
  fi
done

status=0
"$work/fuzz-open" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
  -artifact_prefix="$work/crashes/" "$work/corpus" "$work/seeds" >"$work/log" 2>&1 || status=$?
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
if [ $status -ne 0 ]; then
  tail -60 "$work/log"
  echo "fuzz: FAILED after ${runs:-0} executions; Fuzz/run.sh FILE repeats an input of $work/crashes" >&2
  exit $status
fi
seeds=("$work/seeds"/*)
inputs=("$work/corpus"/*)
echo "fuzz: ${runs:-0} executions in $seconds s from ${#seeds[@]} seeds, no crash; ${#inputs[@]} inputs in the corpus"
