#!/usr/bin/env bash
# Runs for hours what `make check` runs for a minute: random histories and edits, crashes, kills and full disks, then
# mutants in every command, fuzzing and parallel readers, then mutants under the address sanitizer. SOAK_HOURS (default
# 1) sets the time.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=$((${SOAK_HOURS:-1} * 3600))
end=$((SECONDS + seconds))
export FIRST_SEED=$RANDOM$RANDOM
echo "soak: FIRST_SEED=$FIRST_SEED"
MODEL_MODE=soak MODEL_SECONDS=$((seconds / 6)) KILLS=1000 CRASH_SAMPLES=100 SIZES=full \
  swift test --filter 'ModelTests|KillTests|CrashTests|SizeTests'
HISTORIES=200 swift test --filter RealmReplicaTests
E2E_TIMEOUT=3600 REPLICA_KILLS=100 REPLICA_COMMITS=1500 Tests/e2e/run.sh replica
EDIT_SECONDS=$((seconds / 6)) swift test --filter EditEverythingTests
E2E_SECONDS=$((seconds / 6)) E2E_TIMEOUT=$((seconds / 6 + 300)) SEED=$RANDOM$RANDOM Tests/e2e/run.sh edit_everything
E2E_SECONDS=$((seconds / 6)) E2E_TIMEOUT=$((seconds / 6 + 300)) SEED=$RANDOM$RANDOM Tests/e2e/run.sh mutants
# On two processors, a sixth of an hour is enough for 300,000 files and 10,000 disks.
CRASH_STATES=$((seconds * 80)) CRASH_DISKS=$((seconds / 2)) CRASH_SHUTDOWNS=$((seconds / 30)) CRASH_SEEDS=$((seconds * 3)) \
  CRASH_PROCESSES=$((seconds / 20)) Scripts/crash.sh
Scripts/planted.py
FUZZ_SECONDS=$((seconds / 6)) Fuzz/run.sh
E2E_SECONDS=$((seconds / 6)) E2E_TIMEOUT=$((seconds / 6 + 300)) Tests/e2e/run.sh parallel_readers
round=0
while [ $SECONDS -lt $end ]; do
  round=$((round + 1))
  SEED=$RANDOM$RANDOM MUTANTS=${MUTANTS:-5000} Scripts/asan.sh
done
echo "soak: $round rounds of mutants"
