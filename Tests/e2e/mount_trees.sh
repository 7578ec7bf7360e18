#!/usr/bin/env bash
# Every fixture, mounted, shows exactly the expected tree: names, sizes and bytes.
source "$(dirname "$0")/lib.sh"

compare() {
  local file=$1 name point
  name=$(basename "$file" .realm)
  point=$(new_directory "mnt-$name")
  local options=(--read-only)
  [[ $name != *encrypted* ]] || options+=(--key-file "$key_file")
  if ! "$realmfs" mount "${options[@]}" "$file" "$point"; then
    not_ok "$name: mount"
    return
  fi
  check "$name: every name, size and byte" \
    python3 "$repository/Tests/e2e/compare_tree.py" mount "$point" "${file%.realm}.tree.jsonl"
  check "$name: umount" "$realmfs" umount "$point"
}

for file in "$fixtures"/*.realm "$fixtures"/old/*.realm; do compare "$file"; done

if [ -d "$shared/fixtures/sdk" ]; then
  for file in "$shared"/fixtures/sdk/*.realm; do compare "$file"; done
  for file in "$shared"/fixtures/made/items-10k-*.realm; do compare "$file"; done
else
  skip "../shared/fixtures is absent: only the fixtures of this repository were compared"
fi
