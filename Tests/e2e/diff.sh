#!/usr/bin/env bash
# `realmfs diff` prints the differences of two realms by class and object, with the exit codes of diff(1).
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

# --- versions of one file ---

equal "the last commit" '+ Dog/Ace.json {"name":"Ace","weight":0.0,"good":false}' "$("$realmfs" diff --previous new.realm)"
check_status "the exit code is 1 then too" 1 'Ace' "$realmfs" diff --previous new.realm
echo '{"name": "Ace", "weight": 1}' >Dog.jsonl && "$realmfs" import new.realm Dog.jsonl
equal "the last commit only" '~ Dog/Ace.json weight: 0.0 -> 1.0' "$("$realmfs" diff --previous new.realm)"
rm -f new.realm.lock
equal "without a lock file beside it" '~ Dog/Ace.json weight: 0.0 -> 1.0' "$("$realmfs" diff --previous new.realm)"
check_status "which is not made" 1 '' test -e new.realm.lock
check_status "a class without changes" 0 '^$' "$realmfs" diff --previous --class Person new.realm
"$realmfs" encrypt --key-file "$key_file" new.realm secret.realm
"$realmfs" import --key-file "$key_file" secret.realm <(sed 's/1}/2}/' Dog.jsonl) --class Dog --format jsonl
equal "an encrypted file" '~ Dog/Ace.json weight: 1.0 -> 2.0' \
  "$("$realmfs" diff --previous --key-file "$key_file" secret.realm)"
"$realmfs" encrypt --key-file "$key_file" "$fixtures/items-10k.realm" many.realm
echo '{"_id": 5000, "qty": -1}' | "$realmfs" import --key-file "$key_file" --class Item many.realm -
equal "an encrypted file of many pages" 'Item/5000.json' \
  "$("$realmfs" diff --previous --key-file "$key_file" many.realm | grep -o '^~ Item/5000.json' | cut -c3-)"
cp new.realm other.realm
foreign_lock_file() { head -c 4096 /dev/zero | tr '\0' '\7' >other.realm.lock; }
foreign_lock_file
equal "a lock file of another program that is not open" '~ Dog/Ace.json weight: 0.0 -> 1.0' \
  "$("$realmfs" diff --previous other.realm)"
foreign_lock_file
flock -F -s other.realm.lock sleep 60 &
background+=($!)
wait_until 20 grep -q ":$(stat -c %i other.realm.lock) " /proc/locks
check_status "who cannot be kept from committing must close the realm" 8 'in use by process' \
  "$realmfs" diff --previous other.realm
"$realmfs" compact new.realm
check_status "a compacted file holds one version alone" 3 'only version [0-9]+' "$realmfs" diff --previous new.realm
check_status "one file only" 2 'unexpected argument' "$realmfs" diff --previous "$old" new.realm

mkdir -p mnt && "$realmfs" mount new.realm mnt
echo '{"weight": 3}' >mnt/Dog/Rex.json
echo '{"weight": 4}' >mnt/Dog/Rex.json
equal "beside a mount" '~ Dog/Rex.json weight: 3.0 -> 4.0' "$("$realmfs" diff --previous new.realm)"
echo '{"weight": 5}' >mnt/Dog/Rex.json
equal "which goes on writing" '~ Dog/Rex.json weight: 4.0 -> 5.0' "$("$realmfs" diff --previous new.realm)"
"$realmfs" umount mnt
