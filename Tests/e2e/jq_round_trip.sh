#!/usr/bin/env bash
# Writing back every object of the fixtures with all types as `jq .` prints it changes nothing, so nothing is committed.
source "$(dirname "$0")/lib.sh"

for name in all-types nested; do
  file=$(copy_fixture "$name")
  point=$(new_directory "mnt-$name")
  serve "$file" "$point" || continue
  version=$(cat "$point/.realm/version")
  count=0 failed=""
  while IFS= read -r -d '' object; do
    jq . "$object" >"$scratch/text" && cat "$scratch/text" >"$object" || failed+=" ${object#"$point/"}"
    count=$((count + 1))
  done < <(find "$point" -name '*.json' -print0)
  equal "$name: jq's text of each of $count objects is accepted" "" "$failed"
  equal "and changes nothing" "$version" "$(cat "$point/.realm/version")"
  check "umount" "$realmfs" umount "$point"
done
