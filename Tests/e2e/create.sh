#!/usr/bin/env bash
# `realmfs create` creates a realm with the classes of a schema, completely or not at all.
source "$(dirname "$0")/lib.sh"

for file in "$fixtures"/*.realm; do
  name=$(basename "$file" .realm)
  options=()
  [[ $name != *encrypted* ]] || options=(--key-file "$key_file")
  "$realmfs" schema "${options[@]}" "$file" >"$scratch/schema.json"
  check "$name: a realm with its schema" "$realmfs" create --schema "$scratch/schema.json" "${options[@]}" "$scratch/new.realm"
  check "$name: it is sound" "$realmfs" check "${options[@]}" "$scratch/new.realm"
  equal "$name: it has the schema" "$(cat "$scratch/schema.json")" "$("$realmfs" schema "${options[@]}" "$scratch/new.realm")"
  rm -f "$scratch/new.realm"
done

cd "$scratch" || exit 1
check "without a schema" "$realmfs" create bare.realm
equal "it has no classes" "0" "$("$realmfs" info --json bare.realm | jq '.classes | length')"
mkdir plain && cp bare.realm plain/ && sum=$(sha256sum <bare.realm)
check_status "a file that exists is refused" 1 'bare.realm already exists' "$realmfs" create bare.realm
equal "and stays as it is" "$sum" "$(sha256sum <bare.realm)"
check_status "a schema from standard input in the short form" 0 '' bash -c \
  'echo "[{\"name\": \"Cat\", \"primaryKey\": \"id\", \"properties\": {\"id\": \"int\", \"name\": \"string?\"}}]" |
    "$1" create --schema - short.realm' - "$realmfs"
equal "the class is there" "Cat" "$("$realmfs" schema short.realm | jq -r '.schema[].name')"
echo '[{"name": "Cat", "properties": {"id": "number"}}]' >wrong.json
check_status "a wrong schema names file and place" 1 'wrong.json: line 1, column .*number' \
  "$realmfs" create --schema wrong.json never.realm
check_status "a schema that is not there" 3 'absent.json' "$realmfs" create --schema absent.json never.realm
check_status "a directory that is not there" 3 'nowhere' "$realmfs" create nowhere/x.realm
equal "what failed left nothing" "" "$(find . -name 'never*' -o -name '.realmfs-*')"

check_status "--dry-run checks the schema" 0 'dry run, nothing was changed; would report: [0-9]+ classes created' \
  bash -c '"$1" schema "$2" | "$1" create --dry-run --schema - dry.realm' - "$realmfs" "$fixtures/people.realm"
check_status "and finds its errors" 1 'dry.realm|schema' bash -c 'echo "{\"schema\": [{\"name\": \"A\", \"properties\": {\"b\": \"Nothing\"}}]}" | "$1" create --dry-run --schema - dry.realm' - "$realmfs"
equal "and creates nothing" "" "$(ls -d dry.realm* 2>/dev/null)"
