#!/usr/bin/env bash
# Sixteen readers of five kinds at once: no error, and no growth of memory. E2E_SECONDS sets the time (20; 60 with
# E2E_LONG=1).
source "$(dirname "$0")/lib.sh"

seconds=${E2E_SECONDS:-${E2E_LONG:+60}}
seconds=${seconds:-20}
point=$(new_directory mnt)
serve "$fixtures/items-10k.realm" "$point" || exit 0

resident() { awk '/VmRSS/ {print $2}' "/proc/$server/status"; }
class=$point/$(ls "$point" | head -1)

read_once() {
  case $1 in
    find) find "$point" -type f -size +0 >/dev/null ;;
    grep) grep -rc '"' "$class" >/dev/null ;;
    cat) find "$class" -type f -print0 | xargs -0 cat >/dev/null ;;
    tar) tar -C "$point" -cf - . | cat >/dev/null ;;
    rsync) if command -v rsync >/dev/null; then rsync -an "$point/" "$scratch/nothing/"; else ls -lR "$point"; fi >/dev/null ;;
  esac
}

read_until() {
  local rounds=0
  while [ "$(date +%s)" -lt "$2" ]; do
    read_once "$1" || { echo "$1 failed with status $?"; return 1; }
    rounds=$((rounds + 1))
  done 2>>"$scratch/errors"
  echo "$rounds" >>"$scratch/rounds"
}

# One round of each first: the caches that are meant to fill are then full.
for kind in find grep cat tar rsync; do read_once $kind; done 2>>"$scratch/errors"
before=$(resident)
end=$(($(date +%s) + seconds))
readers=()
kinds=(find grep cat tar rsync)
for number in $(seq 0 15); do
  read_until "${kinds[$((number % 5))]}" $end >>"$scratch/errors" &
  readers+=($!)
done
failed=0
for reader in "${readers[@]}"; do wait "$reader" || failed=$((failed + 1)); done
after=$(resident)

equal "16 readers for $seconds s, $(awk '{n += $1} END {print n}' "$scratch/rounds") rounds: no error" \
  "0 readers failed: " "$failed readers failed: $(head -c 500 "$scratch/errors")"
if [ $((after - before)) -lt 6144 ]; then
  ok "memory stays: $before kB before, $after kB after"
else
  not_ok "memory grew from $before kB to $after kB"
fi
if [ "$after" -lt 65536 ]; then ok "$after kB are below 64 MB"; else not_ok "$after kB are too much"; fi
stop_server "$point"
