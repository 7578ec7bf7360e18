#!/usr/bin/env bash
# Builds the fuzzers and runs them for FUZZ_SECONDS (60), or each for FUZZ_RUNS inputs: half of the time on realm files,
# a part of it on files that are written to, encrypted ones and lock files, the rest on each kind of text. FUZZ_ONLY
# selects some of them. Seeds are the small fixtures and Fuzz/corpus: inputs found by a million runs, and requests.
# New inputs are kept in .build/fuzz/corpus; inputs that crash or cost too much, in .build/fuzz/crashes. Exit status 0
# means that there were none of these.
#
#   Fuzz/run.sh                 build and fuzz
#   Fuzz/run.sh --build         build only
#   Fuzz/run.sh FILE...         run single realm files, to examine a crash
#   FUZZ_TARGET=query Fuzz/run.sh FILE...     the same for a text: json, object, schema, query, csv, key, changeset,
#                                             message, synced, request;
#                               or for another kind of file: write, encrypted, lock
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
root=$PWD
work=$root/.build/fuzz
export SWIFT_BACKTRACE=enable=no
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}

# Builds the C helpers, threads and the engine as separate modules, and the target with the code that it shares with
# the tests.
build() {
  echo "fuzz: building" >&2
  rm -rf "$work/objects"
  local flags=(-swift-version 6 -package-name realmfs -parse-as-library -O -wmo -g "-sanitize=fuzzer,address"
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault
    -enable-upcoming-feature MemberImportVisibility
    -enable-testing -I "$work")
  for module in COpenSSL CIntelDecimal CSQLite CTLS CZlib; do flags+=(-I "$root/Sources/$module"); done
  local helper module files
  for module in CLinux CXLSXWriter CMicroHTTPD CWebResources; do
    mkdir -p "$work/$module" "$work/objects/$module"
    printf 'module %s { umbrella "%s" export * }\n' $module "$root/Sources/$module/include" >"$work/$module/module.modulemap"
    flags+=(-I "$work/$module")
    for helper in Sources/"$module"/*.c; do
      clang -O1 -g -fsanitize=address -I Sources/CLinux/include -I "Sources/$module/include" -c "$helper" \
        -o "$work/objects/$module/$(basename "$helper").o"
    done
  done
  for module in Threads RealmPages RealmJSON RealmNames RealmQuery RealmTransfer RealmSync RealmWeb; do
    mapfile -t files < <(find "$root/Sources/$module" -name '*.swift' | sort)
    mkdir -p "$work/objects/$module"
    (cd "$work/objects/$module" && swiftc "${flags[@]}" -module-name $module -num-threads "$(nproc)" \
      -emit-module -emit-module-path "$work/$module.swiftmodule" -c "${files[@]}")
  done
  local libraries=(-lcrypto -lbidgcc000 -lsqlite3 -lssl -lz)
  # The linker warns of each symbol of the sanitizer that it does not export.
  swiftc "${flags[@]}" -module-name FuzzOpen Fuzz/{FuzzOpen,Budget}.swift \
    Tests/TestSupport/{SplitMix64,Mutator,ObjectWalk}.swift "$work"/objects/*/*.o \
    "${libraries[@]}" -o "$work/fuzz-open" 2> >(grep -v 'Cannot export local symbol' >&2)
  swiftc "${flags[@]}" -module-name FuzzTexts Fuzz/{FuzzTexts,FuzzRequest,Budget}.swift \
    Sources/realmfs/Keys/{KeyForm,SecretBuffer}.swift "$work"/objects/*/*.o "${libraries[@]}" -o "$work/fuzz-texts" \
    2> >(grep -v 'Cannot export local symbol' >&2)
}

sources=(Fuzz/*.swift Sources/{RealmPages,RealmJSON,RealmNames,RealmQuery,RealmTransfer,RealmSync,RealmWeb,Threads,CLinux,CXLSXWriter,CMicroHTTPD} Tests/TestSupport)
if [ ! -x "$work/fuzz-texts" ] || [ -n "$(find "${sources[@]}" -newer "$work/fuzz-texts" -print -quit)" ]; then
  build
fi

[ "${1:-}" != --build ] || exit 0
if [ $# -gt 0 ]; then
  case ${FUZZ_TARGET:-realm} in
    realm | write | encrypted | lock) exec "$work/fuzz-open" "$@" ;;
    *) exec "$work/fuzz-texts" "$@" ;;
  esac
fi

mkdir -p "$work/corpus" "$work/crashes" "$work/seeds"
for seed in Tests/Fixtures/*.realm ../shared/fixtures/sdk/*.realm; do
  # The second directory may not exist; an encrypted seed would be random bytes.
  if [ -f "$seed" ] && [ "$(stat -c %s "$seed")" -le 40960 ] && [[ $seed != *encrypted* ]]; then
    install -m 644 "$seed" "$work/seeds/"
  fi
done
install -m 644 Fuzz/corpus/realm/* "$work/seeds/"

# fuzz NAME PROGRAM SECONDS OPTION... CORPUS SEEDS
fuzz() {
  local name=$1 program=$2 time=$3 status=0 runs
  shift 3
  [[ " ${FUZZ_ONLY:-$name} " == *" $name "* ]] || return 0
  local limit=(-max_total_time="$time")
  [ -z "${FUZZ_RUNS:-}" ] || limit=(-runs="$FUZZ_RUNS")
  FUZZ_TARGET=$name "$work/$program" "${limit[@]}" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$work/crashes/$name-" "$@" >"$work/log-$name" 2>&1 || status=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log-$name")
  if [ $status -ne 0 ]; then
    tail -60 "$work/log-$name"
    echo "fuzz: $name: FAILED after ${runs:-0} executions; Fuzz/run.sh FILE repeats an input of $work/crashes" >&2
    exit $status
  fi
  inputs=("${@: -2:1}"/*)
  echo "fuzz: $name: ${runs:-0} executions, no crash; ${#inputs[@]} inputs in the corpus"
}

fuzz realm fuzz-open $((seconds / 4)) -max_len=65536 "$work/corpus" "$work/seeds"
mkdir -p "$work"/{corpus-write,corpus-encrypted,corpus-lock,seeds-encrypted,seeds-lock}
install -m 644 Tests/Fixtures/*encrypted*.realm Fuzz/corpus/encrypted/* "$work/seeds-encrypted/"
install -m 644 Fuzz/corpus/lock/* "$work/seeds-lock/"
# A lock file without its mutexes, with one version in use.
printf '\1\50\60\0\30\2\16\0\0\0\0\0\1' >"$work/seeds-lock/one"
fuzz write fuzz-open $((seconds / 8)) -max_len=65536 "$work/corpus-write" "$work/seeds"
fuzz encrypted fuzz-open $((seconds / 16)) -max_len=65536 "$work/corpus-encrypted" "$work/seeds-encrypted"
fuzz lock fuzz-open $((seconds / 16)) -max_len=2048 "$work/corpus-lock" "$work/seeds-lock"
targets=(json object schema query csv key changeset message synced request)
for target in "${targets[@]}"; do
  mkdir -p "$work/corpus-$target"
  fuzz "$target" fuzz-texts $(((seconds / 2 + 9) / 10)) -max_len=4096 "$work/corpus-$target" "Fuzz/corpus/$target"
done
