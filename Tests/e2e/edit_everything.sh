#!/usr/bin/env bash
# Random edits, through real mounts, of files written by Realm's own engine: the tree equals a model of it, and the
# resulting file is valid. SEED=n repeats one run; E2E_SECONDS=n continues with other seeds for that long.
source "$(dirname "$0")/lib.sh"

loop=${EDIT_LOOP:-$repository/.build/debug/EditLoop}
if [ ! -x "$loop" ]; then
  skip "$loop is not there; 'make build' makes it"
  exit
fi
checker=$shared/tools/realmcheck.py
seed=${SEED:-1}
end=$((SECONDS + ${E2E_SECONDS:-0}))
point=$(new_directory mnt)

# edit NAME [OPTION]...: edits a copy of a fixture through a mount and prints faults.
edit() {
  local name=$1 file output
  shift
  file=$(copy_fixture "$name")
  rm -f "$file".lock
  "$realmfs" upgrade "$@" "$file" >/dev/null || return
  "$realmfs" mount -o create_classes "$@" "$file" "$point" || return
  output=$(timeout 120 "$loop" mount "$point" "$seed" 100) || {
    "$realmfs" umount --discard "$point"
    echo "$output"
    return 1
  }
  "$realmfs" umount --discard "$point" && "$realmfs" check "$@" "$file" || return
  [ -e "$checker" ] && [ $# -eq 0 ] || return 0
  python3 "$checker" verify "$file"
}

while true; do
  for name in people embedded nested leaf-states no-objects-all-types cleared-all-types empty all-types; do
    check "edits of $name, SEED=$seed" edit "$name"
  done
  check "edits of people-encrypted, SEED=$seed" edit people-encrypted --key-file "$key_file"
  cp "$fixtures/old/v10-core-6.0.realm" "$fixtures/old-10.realm"
  check "edits of a file of format 10, SEED=$seed" edit old-10
  seed=$((seed + 1))
  [ $SECONDS -lt $end ] || break
done
