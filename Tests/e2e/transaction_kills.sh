#!/usr/bin/env bash
# `realmfs tx` ends with 0 only if the commit was made: mounts are killed, ended and detached at random times.
# TRANSACTION_ROUNDS=n sets the number of rounds; SEED=n repeats one sequence of delays.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
rounds=${TRANSACTION_ROUNDS:-48}
RANDOM=${SEED:-1}
committed=0 refused=0
for round in $(seq "$rounds"); do
  serve "$file" "$point" || exit
  "$realmfs" tx "$point" -- bash -c '
    for key in 1 2 3 4 5; do echo "{\"name\": \"round $1\"}" >"Person/$((1000 * $1 + key)).json" || exit 0; done
    touch "$2"' - "$round" "$scratch/saved" 2>"$scratch/message" &
  command=$!
  # In some rounds while the command saves, in others during the commit or after it.
  [ $((RANDOM % 3)) -eq 0 ] || wait_until 20 test -e "$scratch/saved"
  sleep "0.$(printf %03d $((RANDOM % 60)))"
  case $((round % 4)) in
    0) { kill -TERM "$server" && wait "$server"; } 2>/dev/null ;;
    1 | 2) { kill -KILL "$server" && wait "$server"; } 2>/dev/null ;;
    3) [ -n "$(ls "$point/.realm/tx" 2>/dev/null)" ] && rmdir "$point/.realm/tx/"tx-* 2>/dev/null ;;
  esac
  wait "$command"
  status=$?
  [ $((round % 4)) -ne 3 ] || { kill -TERM "$server" && wait "$server"; } 2>/dev/null
  umount -l "$point" 2>/dev/null || fusermount3 -uz "$point" 2>/dev/null
  rm -f "$scratch/saved"
  made=$("$realmfs" cat "$file" Person | grep -c "\"round $round\"")
  case $status in
    0) committed=$((committed + 1)) && [ "$made" -eq 5 ] || not_ok "round $round: exit code 0 with $made of 5 objects" ;;
    11)
      refused=$((refused + 1))
      if grep -q 'nothing was committed' "$scratch/message"; then
        [ "$made" -eq 0 ] || not_ok "round $round: $made objects after: $(cat "$scratch/message")"
      else
        grep -q 'no commit was confirmed' "$scratch/message" || not_ok "round $round: no reason: $(cat "$scratch/message")"
      fi
      ;;
    # The mount ended before the transaction began.
    1 | 9) [ "$made" -eq 0 ] || not_ok "round $round: exit code $status with $made objects" ;;
    *) not_ok "round $round: exit code $status: $(cat "$scratch/message")" ;;
  esac
done
ok "$rounds rounds: $committed commits, $refused without a confirmed commit"
# How many rounds were killed before the commit depends on the speed of the machine.
check "some rounds committed" test "$committed" -gt 0
check "the file is sound" "$realmfs" check "$file"
