#!/usr/bin/env bash
# `realmfs cat` prints the objects that a mount shows, without a mount: a class as JSON Lines in the order of the object
# keys, an object with the exact text of its file.
source "$(dirname "$0")/lib.sh"

compare() {
  local file=$1 name
  name=$(basename "$file" .realm)
  local options=()
  [[ $name != *encrypted* ]] || options=(--key-file "$key_file")
  check "$name: every class, line by line" python3 "$repository/Tests/e2e/compare_tree.py" cat \
    "${file%.realm}.tree.jsonl" "$realmfs" cat "${options[@]}" "$file"
}

for file in "$fixtures"/*.realm "$fixtures"/old/*.realm; do compare "$file"; done
if [ -d "$shared/fixtures/sdk" ]; then
  for file in "$shared"/fixtures/sdk/*.realm; do compare "$file"; done
else
  skip "../shared/fixtures is absent: files of SDKs were not compared"
fi

# Single objects in every notation, compared with the mount byte by byte.
for name in all-types primary-keys embedded; do
  for style in plain ejson canonical; do
    point=$(new_directory "mnt-$name-$style")
    "$realmfs" mount -o json=$style "$fixtures/$name.realm" "$point" || not_ok "mount $name"
    wrong=0 count=0
    while IFS= read -r path; do
      count=$((count + 1))
      "$realmfs" cat --json-style=$style "$fixtures/$name.realm" "$path" | cmp -s - "$point/$path" || wrong=$((wrong + 1))
    done < <(cd "$point" && for class in */; do find "${class%/}" -type f | sort | head -12; done)
    equal "$name: $count single objects as json=$style are the files of the mount" "0" "$wrong"
    "$realmfs" umount "$point"
  done
done

file=$fixtures/people.realm
check_status "a file of the control directory" 0 '"schema"' "$realmfs" cat "$file" .realm/schema.json
check_status "a class that does not exist names those that do" 3 'no class Cat; it has Dog, Person' "$realmfs" cat "$file" Cat
check_status "an object that does not exist" 3 'Person/99.json' "$realmfs" cat "$file" Person/99.json

# The files of a class that are rendered while they are read.
point=$(new_directory dots)
"$realmfs" mount "$file" "$point" || not_ok "mount"
for name in Person/.all.jsonl Person/.all.csv 'Person/.where/age > 30/.all.jsonl' Person/.count Person/.fields/4/name; do
  equal "$name as in the mount" "$(sha256sum <"$point/$name")" "$("$realmfs" cat "$file" "$name" | sha256sum)"
done
"$realmfs" umount "$point"
check_status "what waits for commits is not printed" 3 'watch' "$realmfs" cat "$file" .realm/changes

# A reader that ends early.
message=$({ "$realmfs" cat "$fixtures/items-10k.realm" "$("$realmfs" info --json "$fixtures/items-10k.realm" |
  jq -r '.classes[0].name')" | head -1 >/dev/null; } 2>&1)
equal "a closed pipe ends it quietly" "" "$message"
if [ -e /dev/full ]; then
  check_status "a full disk is an error" 1 'No space left' \
    bash -c '"$1" cat "$2" Person >/dev/full' - "$realmfs" "$file"
fi
