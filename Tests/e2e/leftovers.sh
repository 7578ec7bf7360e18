#!/usr/bin/env bash
# Files whose app removed properties and classes: the leftovers of Realm's own engine do not count as damage, and all
# commands and mounts work.
source "$(dirname "$0")/lib.sh"

file=$scratch/app.realm
cp "$fixtures/leftovers/leftovers.realm" "$file"
check_status "check finds the file sound and names what was left" 0 'sound, 13 harmless leftovers' "$realmfs" check "$file"
equal "as JSON" "true 0 13 13" \
  "$("$realmfs" check --json "$file" | jq -r '"\(.sound) \(.problemCount) \(.leftoverCount) \(.leftovers | length)"')"
check "it can be copied" "$realmfs" backup "$file" "$scratch/copy.realm"
check "and the copy is sound" "$realmfs" check "$scratch/copy.realm"
cp "$file" "$scratch/small.realm"
check "it can be compacted" "$realmfs" compact "$scratch/small.realm"
check "what was compacted is sound" "$realmfs" check "$scratch/small.realm"
check "and holds the same" "$realmfs" diff "$file" "$scratch/small.realm"
check_status "recover takes them for no loss" 0 'everything in this version is saved' "$realmfs" recover "$file" "$scratch/saved.realm"
check "and saves all objects" "$realmfs" diff "$file" "$scratch/saved.realm"
check_status "also those without owner" 0 'embedded object with 0 owners' "$realmfs" check "$scratch/saved.realm"
check "it can be sealed" "$realmfs" seal "$file"

mnt=$(new_directory mnt)
serve "$file" "$mnt"
check "an object with backlinks of a class that is gone can be deleted" rm "$mnt/Dog/d0.json"
equal "links to it are gone" "null" "$(jq .pet "$mnt/Person/0.json")"
check "so can all of them" rm "$mnt/Dog/d1.json" "$mnt/Dog/d2.json" "$mnt/Dog/d3.json"
check_status "their class has properties and stays" 1 'Operation not permitted' rmdir "$mnt/Dog"
check "a property with an index that the schema did not declare can be changed" \
  sh -c "echo '{\"age\": 50}' > '$mnt/Person/3.json'"
equal "and is found by it" "3.json" "$(ls "$mnt/Person/.where/age == 50")"
equal "the schema shows that index" "true" "$(jq '.properties.age.indexed' "$mnt/.realm/schema/Person.json")"
stop_server "$mnt"
check_status "the file is sound" 0 'sound' "$realmfs" check "$file"
