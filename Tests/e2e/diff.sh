#!/usr/bin/env bash
# `realmfs diff`: what differs between two realms, by class and object, with the exit codes of diff(1).
source "$(dirname "$0")/lib.sh"

for file in "$fixtures"/*.realm; do
  options=()
  [[ $file != *encrypted* ]] || options=(--key-file "$key_file")
  check_status "$(basename "$file"): nothing differs from itself" 0 '^$' "$realmfs" diff "${options[@]}" "$file" "$file"
done

cd "$scratch" || exit 1
old=$fixtures/people.realm
cp "$old" new.realm
echo '{"name": "Rex", "weight": 9}' >Dog.jsonl && "$realmfs" import new.realm Dog.jsonl
echo '{"name": "Ace"}' >Dog.jsonl && "$realmfs" import new.realm Dog.jsonl
expected='~ Dog/Rex.json weight: 4.5 -> 9.0
+ Dog/Ace.json {"name":"Ace","weight":0.0,"good":false}'
equal "changed and new objects" "$expected" "$("$realmfs" diff "$old" new.realm)"
equal "the other way round" '- Dog/Ace.json' "$("$realmfs" diff new.realm "$old" | grep -o '^- Dog/Ace.json')"
check_status "exit code 1 says that something differs" 1 'Dog/Rex' "$realmfs" diff "$old" new.realm
equal "as JSON Lines" "Rex.json 4.5 9 Ace.json" "$("$realmfs" diff --json "$old" new.realm |
  jq -r '.name, (.properties // {} | .weight // empty | .old, .new)' | xargs)"
check_status "one class only" 0 '^$' "$realmfs" diff --class Person "$old" new.realm
check_status "the schema" 1 '^- schema Person.age: int\?' "$realmfs" diff "$old" "$fixtures/embedded.realm"
check_status "an encrypted file and its plain twin" 0 '^$' \
  "$realmfs" diff --key-file "$key_file" "$fixtures/people-encrypted.realm" "$old"
check_status "trouble is above 1: a file that is not there" 3 'No such file' "$realmfs" diff "$old" absent.realm
check_status "trouble is above 1: a class that is not there" 3 'no class Cat' "$realmfs" diff --class Cat "$old" new.realm
check_status "trouble is above 1: a full disk" 2 'No space left' \
  bash -c '"$1" diff "$2" "$3" >/dev/full' - "$realmfs" "$old" new.realm
