#!/usr/bin/env bash
# `realmfs class` and `realmfs property`: schema changes without a mount. Renaming keeps keys, values and links; data is
# removed only with --force.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
file=$(copy_fixture people)
schema() { "$realmfs" schema "$file" | jq -c ".schema[] | select(.name == \"$1\") | $2"; }
version() { "$realmfs" info --json "$file" | jq .version; }

# classes
check_status "a class with properties" 0 'class Cat added with 4 properties' \
  "$realmfs" class add "$file" Cat name=string 'lives=int?' 'toys=string[]' owner=Person --primary-key name
equal "has the types of the short forms" \
  '{"name":"Cat","primaryKey":"name","properties":{"name":{"type":"string"},"lives":{"type":"int","optional":true},"toys":{"type":"list","objectType":"string"},"owner":{"type":"object","objectType":"Person","optional":true}}}' \
  "$(schema Cat .)"
check_status "an embedded class" 0 'class Address added with 1 property' \
  "$realmfs" class add "$file" Address street=string --embedded
equal "is one" true "$(schema Address .embedded)"
check_status "a class without properties" 0 'class Empty added with 0 properties' "$realmfs" class add "$file" Empty
check_status "a class that links to itself" 0 'class Node added' "$realmfs" class add "$file" Node 'next=Node' 'all=Node[]'
check "new classes take objects" "$realmfs" insert -q "$file" Cat '{"name": "Tom", "owner": 4, "toys": ["ball"]}'
before=$("$realmfs" cat "$file" Person/4)
check_status "another name" 0 'class Person renamed to Human' "$realmfs" class rename "$file" Person Human
equal "keeps the objects" "$before" "$("$realmfs" cat "$file" Human/4)"
equal "and links to them" '{"name":"Tom","lives":null,"toys":["ball"],"owner":4}' "$("$realmfs" cat "$file" Cat)"
equal "and their type" '"Human"' "$(schema Cat .properties.owner.objectType)"
check_status "a class with objects stays" 1 'Cat has 1 object; nothing was changed; --force' "$realmfs" class rm "$file" Cat
check_status "until --force" 0 'class Cat removed with 1 object' "$realmfs" class rm --force "$file" Cat
check_status "a class without objects goes" 0 'class Node removed with 0 objects' "$realmfs" class rm "$file" Node
check_status "a class that is linked to stays" 1 \
  'Dog cannot be removed while properties link to it; remove these first: Human.dog' "$realmfs" class rm --force "$file" Dog

# properties
check_status "an optional property" 0 'Human.nick added as string\?; it is null in 19 objects' \
  "$realmfs" property add "$file" Human nick 'string?'
check_status "a required one" 0 'Human.score added as double; it is the default of its type in 19 objects' \
  "$realmfs" property add "$file" Human score double
check_status "a collection" 0 'Human.tags added as uuid<>; it is an empty collection in 19 objects' \
  "$realmfs" property add "$file" Human tags 'uuid<>'
check_status "an embedded object" 0 'Human.home added as Address' "$realmfs" property add "$file" Human home Address
check "takes values" "$realmfs" set -q "$file" Human/4 nick=Al score=2.5 'home={"street": "Main"}' \
  'tags=["00000000-0000-0000-0000-000000000001"]'
check_status "another name" 0 'Human.nick renamed to alias' "$realmfs" property rename "$file" Human nick alias
equal "keeps the values" '["Al",2.5,{"street":"Main"},22]' \
  "$("$realmfs" set -q "$file" Human/4 age=22; "$realmfs" cat "$file" Human/4 | jq -c '[.alias,.score,.home,.age]')"
check_status "one with values stays" 1 'Human.alias has a value in 1 object; nothing was changed; --force' \
  "$realmfs" property rm "$file" Human alias
check_status "until --force" 0 'Human.alias removed with the values of 1 object' \
  "$realmfs" property rm --force "$file" Human alias
check_status "embedded objects go with their property" 0 'removed with the values of 1 object' \
  "$realmfs" property rm --force "$file" Human home
equal "all of them" '0' "$("$realmfs" info --json "$file" | jq '.classes[] | select(.name == "Address").objects')"
check_status "a set goes with its values" 0 'Human.tags removed with the values of 1 object' \
  "$realmfs" property rm --force "$file" Human tags
check "a new property" "$realmfs" property add -q "$file" Human note 'string?'
check_status "without values needs no --force" 0 'Human.note removed; no object had a value' "$realmfs" property rm "$file" Human note
check_status "an index that is there goes" 0 'Human.name has no index now' "$realmfs" property index "$file" Human name none
check_status "an index" 0 'Human.name has a search index now' "$realmfs" property index "$file" Human name
equal "is there" true "$(schema Human .properties.name.indexed)"
check_status "of another kind" 0 'Human.name has a full-text index now' "$realmfs" property index "$file" Human name full-text
equal "is there, too" '"full-text"' "$(schema Human .properties.name.indexed)"
before=$(version)
check_status "what is there is no commit" 0 'nothing to change' "$realmfs" property index "$file" Human name full-text
equal "indeed" "$before" "$(version)"
check_status "no index" 0 'Human.name has no index now' "$realmfs" property index "$file" Human name none
equal "is gone" null "$(schema Human .properties.name.indexed)"
check_status "the primary key has one" 1 'Human._id is the primary key, which always has an index' \
  "$realmfs" property index "$file" Human _id none
check_status "the primary key goes, too" 0 'Human._id removed with the values of 19 objects' \
  "$realmfs" property rm --force "$file" Human _id
equal "and objects have their object keys" '[0,19]' \
  "$("$realmfs" export -q --class Human "$file" | jq -sc '[.[0]["$key"], length]')"
check "the file is sound" "$realmfs" check "$file"
equal "the schema version stays" 0 "$("$realmfs" info --json "$file" | jq .schemaVersion)"

# undo restores removed classes and properties, with their objects
for command in "property rm --force" "class rm --force"; do
  cp "$fixtures/people.realm" work.realm && chmod 644 work.realm
  "$realmfs" property rm -q --force work.realm Person dog
  cp work.realm former.realm
  case $command in
    property*) "$realmfs" property rm -q --force work.realm Person friends ;;
    class*) "$realmfs" class rm -q --force work.realm Dog ;;
  esac
  check "$command" "$realmfs" undo -q work.realm
  check_status "$command is taken back" 0 '^$' "$realmfs" diff former.realm work.realm
  rm -rf work.realm* former.realm*
done

# --dry-run, --json, refusals
file=$(copy_fixture people)
before=$(version)
check_status "--dry-run shows the change" 0 '^- schema Person.age: int\?' "$realmfs" property rm --dry-run "$file" Person age
equal "and makes none" "$before" "$(version)"
equal "--json says what was done" '{"class":"Person","action":"rm","objects":14}' \
  "$("$realmfs" property rm --force --json "$file" Person email | jq -c .)"
refused() { # WHAT STATUS PATTERN ARGUMENT...
  local what=$1 status=$2 pattern=$3
  shift 3
  check_status "$status: $what" "$status" "$pattern" "$realmfs" "$@"
}
refused "a type that is none" 1 'Person.x: no type or class Strnig; did you mean string\? the types are int, ' \
  property add "$file" Person x Strnig
refused "a type of another system" 1 'no type or class integer; did you mean int\?' property add "$file" Person x integer
refused "a form that is none" 2 'x: "int!\[\]\?" is not a type|x: ' property add "$file" Person x 'int?[]?'
refused "a class that exists" 1 'class Dog already exists' class add "$file" Dog
refused "a name that is taken" 1 'class Dog already exists' class rename "$file" Person Dog
refused "a property that exists" 1 'Person already has a property name' property add "$file" Person name int
refused "a property of that name" 1 'Person already has a property age' property rename "$file" Person name age
refused "a missing class" 3 'no class Persn; did you mean Person\?' class rm "$file" Persn
refused "a missing property" 3 'Person has no property agee; did you mean age\?' property rm "$file" Person agee
refused "a name that is too long" 1 'longer than 57 bytes' class add "$file" "$(head -c 58 /dev/zero | tr '\0' x)"
refused "no name" 1 'a class without a name' class add "$file" ''
refused "a set of embedded objects" 1 'a set of embedded objects' class add "$(copy_fixture embedded)" X \
  "a=$("$realmfs" schema "$fixtures/embedded.realm" | jq -r 'first(.schema[] | select(.embedded)).name')<>"
refused "an index that the type cannot have" 1 'cannot have this index' property index "$file" Person friends
refused "an unknown action" 2 "'remove' is not one of add, rm, rename; did you mean rm\?" class remove "$file" Dog
refused "a key that is no property" 2 'the primary key id is not among the properties' class add "$file" X --primary-key id
refused "--force elsewhere" 2 "--force is for 'rm'" class add --force "$file" X
refused "no type" 2 'the type is missing' property add "$file" Person x
refused "too many words" 2 "unexpected argument 'y'" class rm "$file" Dog y
equal "refusals change nothing" "$((before + 1))" "$(version)"
synced=$(copy_fixture synced)
refused "a synced realm" 1 "sync history.*'realmfs convert --local'" class add "$synced" X
check "which is as it was" cmp "$synced" "$fixtures/synced.realm"
cp "$fixtures/old/v9-core-5.23.9.realm" old.realm
refused "an older format" 7 'realmfs upgrade' class add old.realm X
check "an encrypted realm" "$realmfs" class add -q --key-file "$key_file" "$(copy_fixture people-encrypted)" Cat name=string
check "is sound" "$realmfs" check --key-file "$key_file" people-encrypted.realm

# beside a mount
point=$(new_directory mnt)
cp "$fixtures/people.realm" shared.realm && chmod 644 shared.realm
if serve "$scratch/shared.realm" "$point"; then
  check "a class of a mounted realm" "$realmfs" class rename -q shared.realm Dog Hound
  check "has its new name there" wait_until 10 test -e "$point/Hound/Rex.json"
  check "and not the old one" wait_until 10 test ! -e "$point/Dog"
  check "so has a property" "$realmfs" property rename -q shared.realm Hound weight kilos
  equal "with its value" 4.5 "$(jq .kilos "$point/Hound/Rex.json")"
  echo '{"kilos": 5}' >"$point/Hound/Rex.json"
  equal "and can be saved" 5.0 "$("$realmfs" cat shared.realm Hound/Rex | grep -o '5.0')"
  stop_server "$point"
fi
check "the mounted realm is sound" "$realmfs" check shared.realm
