#!/usr/bin/env bash
# Bursts of signals, from the start of a mount to the end of its process: the first one ends the mount as usual, the
# others have no effect. No mount remains, the status is 0, and acknowledged saves are in the file. E2E_ROUNDS sets the
# number of rounds, SEED selects them.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
seed=${SEED:-1}
summary=$(python3 "$repository/Tests/e2e/signal_bursts.py" "$realmfs" "$file" "$point" "${E2E_ROUNDS:-60}" "$seed" 2>&1)
equal "signals in bursts" "0 of ${E2E_ROUNDS:-60} rounds failed, seed $seed" "$summary"
check "the file is sound" "$realmfs" check "$file"

# In the background, with five signals from outside before the first is handled.
"$realmfs" mount "$file" "$point"
pid=$(pgrep -f "^$realmfs mount $file $point\$")
kill -TERM "$pid"
for signal in TERM INT HUP TERM; do kill -$signal "$pid" 2>/dev/null; done
check "a mount in the background ends too" wait_until 20 is_dead "$pid"
check "and is unmounted" is_not_mounted "$point"
