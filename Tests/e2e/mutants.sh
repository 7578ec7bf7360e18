#!/usr/bin/env bash
# Every command, writing mounts and a migration, on damaged files: with hostile ones they end within 2 s of processor time
# and 100 MB, with random ones in time; all end on SIGTERM, none by a trap. SEED=n sets the first random one,
# FIXTURES=text the files, E2E_SECONDS=n the time, MUTANTS=n the number. Files that reveal a fault stay in .build/mutants.
source "$(dirname "$0")/lib.sh"

tool=${MUTANT_FILES:-$repository/.build/debug/MutantFiles}
runner=$repository/Tests/e2e/mutants.py
keep=$repository/.build/mutants

check "files that are made to hurt, in every command" \
  python3 "$runner" --limit 20 --patience 10 --cpu 2 --memory 100 --keep "$keep" "$realmfs" "$fixtures"/damaged/*.realm
# The runner detects the faults that it looks for.
printf '#!/bin/sh\ntrap "" TERM\n[ "$1" != cat ] || sleep 60 & wait\n[ "$1" != schema ] || kill -SEGV $$\n' >"$scratch/bad"
chmod +x "$scratch/bad"
check_status "a command that hangs, ignores SIGTERM or crashes would be seen" 1 \
  "(ignores SIGTERM(.|\n)*SIGSEGV|SIGSEGV(.|\n)*ignores SIGTERM)" \
  bash -o pipefail -c "python3 '$runner' --limit 0.5 --patience 0.2 '$scratch/bad' '$fixtures/people.realm' | tr '\n' ' '"

if [ ! -x "$tool" ]; then
  skip "$tool is not there; 'make build' makes it"
  exit
fi
# Large files would take most of the time.
files=$(find "$fixtures" -name '*.realm' -size -140k -path "*${FIXTURES:-}*" ! -path '*/damaged/*' | sort)
seconds=${E2E_SECONDS:-8}
seed=${SEED:-1}
# shellcheck disable=SC2086
check "damaged copies of fixtures from SEED=$seed on, in every command" \
  python3 "$runner" --mutants "$tool" --seed "$seed" --count "${MUTANTS:-1000000}" --seconds "$seconds" \
  --limit 20 --patience 10 --keep "$keep" --key "$key_file" "$realmfs" $files
