#!/usr/bin/env bash
# `realmfs set`, `insert` and `delete`: changes without a mount, one transaction each; refusals quote the arguments and
# leave the file unchanged.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
file=$(copy_fixture people)
version() { "$realmfs" info --json "$file" | jq .version; }
field() { "$realmfs" cat "$file" "$1" | jq -c "$2"; }

# set
before=$(version)
check_status "set says what it did" 0 'Person/4 changed' "$realmfs" set "$file" Person/4 age=22 dog=Rex 'friends=[18, 25]' joined=2024-05-01T10:00:00Z
equal "in one commit" "$((before + 1))" "$(version)"
equal "set takes every value" '[22,"Rex",[18,25],"2024-05-01T10:00:00Z"]' "$(field Person/4 '[.age,.dog,.friends,.joined]')"
check_status "set to what is stored" 0 'has these values already' "$realmfs" set "$file" Person/4 age=22
equal "is no commit" "$((before + 1))" "$(version)"
check "the name with .json" "$realmfs" set -q "$file" Person/4.json age=null email=null dog=null 'friends=null'
equal "null clears" '[null,null,null,[]]' "$(field Person/4 '[.age,.email,.dog,.friends]')"
check "text like other types" "$realmfs" set -q "$file" Person/4 name=true email=17
equal "is text where the property is" '["true","17"]' "$(field Person/4 '[.name,.email]')"
check "a JSON string" "$realmfs" set -q "$file" Person/4 'name="null"' email=
equal "may be null in words; nothing is the empty text" '["null",""]' "$(field Person/4 '[.name,.email]')"
check "set takes a day" "$realmfs" set "$file" Person/4 joined=2024-02-29
equal "which begins at midnight, UTC" '"2024-02-29T00:00:00Z"' "$(field Person/4 .joined)"

# every type: the output of cat for one object is set on another
all=$(copy_fixture all-types)
cat >"$scratch/types.py" <<'PYTHON'
import json, subprocess, sys
program, file = sys.argv[1:3]
objects = [json.loads(line) for line in subprocess.check_output([program, "cat", file, "AllTypes"]).splitlines()]
plain = {"string", "data", "date", "objectId", "decimal", "uuid"}
assert len(objects) > 10
for source in objects:
    words = []
    for name, value in source.items():
        if name == "_id":
            continue
        if isinstance(value, str) and name.removesuffix("Opt") in plain and value[:1] not in ('"', "[") and value != "null" and "\0" not in value:
            words.append(f"{name}={value}")
        else:
            words.append(f"{name}={json.dumps(value)}")
    subprocess.run([program, "set", "-q", file, "AllTypes/0", *words], check=True)
    after = json.loads(subprocess.check_output([program, "cat", file, "AllTypes/0"]))
    for name in source:
        if name != "_id" and source[name] != after[name] and not name.endswith("Set"):
            sys.exit(f"{name}: {source[name]!r} became {after[name]!r}")
        if name.endswith("Set") and sorted(map(json.dumps, source[name])) != sorted(map(json.dumps, after[name])):
            sys.exit(f"{name}: {source[name]!r} became {after[name]!r}")
PYTHON
check "set takes every type and extreme as cat prints it" python3 "$scratch/types.py" "$realmfs" "$all"
check "the realm is sound" "$realmfs" check "$all"
check "numbers that are none" "$realmfs" set -q "$all" AllTypes/0 double=NaN float=-Infinity decimal=NaN
equal "are set" '["NaN","-Infinity","NaN"]' \
  "$("$realmfs" cat "$all" AllTypes/0 | jq -c '[.double["$numberDouble"],.float["$numberDouble"],.decimal]')"
refused() { # WHAT PATTERN ASSIGNMENT...
  local what=$1 pattern=$2
  shift 2
  check_status "refused: $what" 1 "$pattern" "$realmfs" set "$all" AllTypes/1 "$@"
}
refused "text for a number" 'AllTypes/1: int: expected a whole number, found the string "abc"' int=abc
refused "a fraction for a whole number" 'int: expected a whole number' int=1.5
refused "a number out of range" 'int: .*9223372036854775808' int=9223372036854775808
refused "a word for a boolean" 'bool: expected true or false, found the string "yes"' bool=yes
refused "no date" 'date: expected a date like' date=yesterday
refused "no UUID" 'uuid: expected a UUID' uuid=1
refused "no object id" 'objectId: expected 24 hex' objectId=xyz
refused "no base64" 'data: expected base64' 'data=*'
refused "no decimal" 'decimal: expected a decimal' decimal=ten
refused "null where it cannot be" "string: expected a string, found null, but string is required; the text null is written '\"null\"'" string=null
refused "no array" 'intList: expected an array, found the number 1' intList=1
refused "an element of another type" 'intList\[1\]: expected a whole number, found the string "x"' 'intList=[1, "x"]'
refused "broken JSON" 'intList=\[1: not JSON, at character' 'intList=[1'
refused "an open quote" 'string="x: not JSON' 'string="x'
refused "bare text in a mixed property" "any=hello: not JSON; a string is written any='\"hello\"'" any=hello
refused "a link to nothing" 'link: there is no AllTypes with the primary key' link=999999
refused "another primary key" "_id: the number 2 is not this object's primary key" _id=2
refused "an unknown property" 'AllTypes/1: nam: class AllTypes has no property "nam"; it has _id' nam=1
refused "one bad value refuses all" 'bool:' int=77 bool=x
equal "and nothing is set" "1" "$("$realmfs" cat "$all" AllTypes/1 | jq .int)"
check_status "2: no assignment" 2 "'age' is not an assignment; write PROPERTY=VALUE" "$realmfs" set "$file" Person/4 age
check_status "2: twice" 2 'age is given twice' "$realmfs" set "$file" Person/4 age=1 age=2
check_status "2: no object" 2 "'Person' is not an object; write CLASS/NAME" "$realmfs" set "$file" Person age=1
check_status "2: bytes that are no UTF-8" 2 'is not UTF-8' "$realmfs" set "$file" Person/4 $'name=\xff'
check_status "3: a missing object" 3 'no object Person/5' "$realmfs" set "$file" Person/5 age=1
check_status "3: a missing class" 3 'no class Persn; it has Dog, Person' "$realmfs" set "$file" Persn/4 age=1

# insert
check_status "insert says which required properties were not given, and what they have" 0 \
  'Dog.good is required and was not given: 1 object has false' "$realmfs" insert "$file" Dog '{"name": "Hasso", "weight": 5}'
check_status "by assignments, too" 0 'Person.joined is required and was not given: 1 object has "1970-01-01T00:00:00Z"' \
  "$realmfs" insert "$file" Person _id=77
equal "in JSON" '{"created":2,"defaults":{"Dog.weight":2,"Dog.good":1}}' \
  "$("$realmfs" insert --json "$file" Dog '[{"name": "D1"}, {"name": "D2", "good": true}]' | jq -c .)"
equal "nothing where all was given, or changed" "" \
  "$("$realmfs" insert "$file" Dog name=D3 weight=1 good=true 2>&1 | grep required; "$realmfs" set "$file" Dog/D3 weight=2 2>&1 | grep required)"
for name in Person/77 Dog/Hasso Dog/D1 Dog/D2 Dog/D3; do "$realmfs" delete -q -y "$file" "$name"; done
check_status "insert names the object" 0 'Dog/Laika created' "$realmfs" insert "$file" Dog '{"name": "Laika", "weight": 5}'
check_status "insert by assignments" 0 'Dog/Balto created' "$realmfs" insert "$file" Dog name=Balto good=true
equal "the rest takes defaults" '[0,true]' "$(field Dog/Balto '[.weight,.good]')"
before=$(version)
printf '\n[{"name": "A"},\n {"name":\n "B"}]\n{"name": "C"}{"name":"{]\\""}' | "$realmfs" insert -q "$file" Dog
equal "are one commit" "$((before + 1))" "$(version)"
equal "and are there" '["A","B","C","{]\""]' "$("$realmfs" query "$file" Dog 'name IN {"A", "B", "C", "{]\""}' | jq -s -c 'map(.name)')"
check_status "an object that exists" 1 "Dog: an object with this primary key exists; 'realmfs set' changes it" "$realmfs" insert "$file" Dog name=Rex
check_status "also as JSON" 1 "the object: line 1: an object with this primary key exists" "$realmfs" insert "$file" Dog '{"name": "Rex"}'
check_status "with the line among several" 1 "line 2: an object with this primary key exists" \
  "$realmfs" insert "$file" Dog $'[{"name": "New"},\n{"name": "Rex"}]'
check_status "and nothing of them is made" 3 'no object' "$realmfs" set "$file" Dog/New weight=1
check_status "an unknown property" 1 'line 1, column 17, wei: class Dog has no property "wei"' "$realmfs" insert "$file" Dog '{"name":"Rex2", "wei":1}'
for text in '{"name":"X"' '[{"name":"X"}' '[{"name":"X"},]' '{"name":"X"},{"name":"Y"}' '{"name":"X"}]' '[{"name":"X"} {"name":"Y"}]' '{"name":"X"} 5'; do
  check_status "refused: $text" 1 'the object: line 1' "$realmfs" insert "$file" Dog "$text"
done
check_status "without a primary key" 1 'Dog: the primary key "name" is missing' "$realmfs" insert "$file" Dog weight=1
check_status "3: insert into a missing class" 3 'no class Cat' "$realmfs" insert "$file" Cat name=X
check_status "an embedded class" 1 'embedded' "$realmfs" insert "$(copy_fixture embedded)" "$("$realmfs" schema "$fixtures/embedded.realm" | jq -r 'first(.schema[] | select(.embedded)).name')" '{}'

# delete
check_status "--dry-run shows objects and the links to them" 0 '^~ Person/102.json dog: "Rex" -> null' "$realmfs" delete --dry-run "$file" Dog/Rex
before=$(version)
check_status "and the object" 0 '^- Dog/Rex.json \{"name":"Rex"' "$realmfs" delete --dry-run "$file" Dog/Rex
equal "and changes nothing" "$before" "$(version)"
check_status "--dry-run of set" 0 '^~ Person/4.json age: null -> 5$' "$realmfs" set --dry-run "$file" Person/4 age=5
check_status "--dry-run of insert" 0 '^\+ Dog/New.json \{"name":"New","weight":0.0,"good":false\}$' "$realmfs" insert --dry-run "$file" Dog name=New
equal "change nothing either" "$before" "$(version)"
equal "--dry-run as JSON" '"changed"' "$("$realmfs" set --dry-run --json "$file" Person/4 age=5 2>/dev/null | jq .change)"
"$realmfs" cat "$file" Person >before
"$realmfs" delete --dry-run --json "$file" Dog/Rex 2>/dev/null | jq -c 'select(.change == "changed").name' | sort >shown
check_status "delete by name" 0 '1 object deleted' "$realmfs" delete "$file" Dog/Rex
"$realmfs" cat "$file" Person >after
diff before after | grep '^>' | sed 's/^> //' | jq -c '"\(._id).json"' | sort >changed
check "what --dry-run showed is what happened" cmp shown changed
check "and there was something" test -s shown
check_status "delete by query" 0 '3 objects deleted' "$realmfs" delete "$file" Person 'age > 35'
equal "they are gone" "0" "$("$realmfs" query --count "$file" Person 'age > 35')"
check_status "a query that gets a value" 0 '0 objects deleted' "$realmfs" delete --arg 350 "$file" Person 'age > $0'
check_status "a date without quotes" 1 '2024-05-01 is not a number; dates need quotes' \
  "$realmfs" insert "$file" Person '{"_id":700,"joined":2024-05-01}'
check_status "a query that finds nothing" 0 '0 objects deleted' "$realmfs" delete "$file" Person 'age > 350'
check_status "3: one that is missing refuses all" 3 'no object Dog/Nope' "$realmfs" delete "$file" Dog/Fido Dog/Nope
check "none of them is gone" "$realmfs" cat "$file" Dog/Fido
check_status "2: a class alone is not enough" 2 'no objects of Dog given: add a query, or write Dog/NAME' "$realmfs" delete "$file" Dog
check_status "2: a mistake in the query" 2 'Dog has no property weigt' "$realmfs" delete "$file" Dog 'weigt > 1'
equal "--json counts" '{"deleted":1}' "$("$realmfs" delete --json "$file" Dog/Fido | jq -c .)"
check "the realm is sound" "$realmfs" check "$file"

# confirmation on a terminal
ask() { # ANSWER ARGUMENT...
  local answer=$1
  shift
  printf '%s\n' "$answer" | timeout 20 script -qec "'$realmfs' delete '$file' $*" /dev/null
}
if command -v script >/dev/null; then
  ask n Dog/Lassie >asked
  check "delete asks on a terminal" grep -q "Delete Dog/Lassie from .*? \[y/N\]" asked
  check "no keeps the object" "$realmfs" cat "$file" Dog/Lassie
  ask y Dog/Lassie >asked
  check_status "yes deletes it" 3 'not found|no such|No such' "$realmfs" cat "$file" Dog/Lassie
  timeout 20 script -qec "'$realmfs' delete --yes '$file' Dog/Laika" /dev/null </dev/null >asked
  check_status "--yes does not ask" 3 'not found|no such|No such' "$realmfs" cat "$file" Dog/Laika
else
  skip "script(1) is absent: nothing was asked on a terminal"
fi

# values that cannot be changed
encrypted=$(copy_fixture people-encrypted)
check "an encrypted realm" "$realmfs" set -q --key-file "$key_file" "$encrypted" Person/4 age=22
equal "is changed" "22" "$("$realmfs" cat --key-file "$key_file" "$encrypted" Person/4 | jq .age)"
check_status "5 or 6: without the key" "$("$realmfs" cat "$encrypted" Person >/dev/null 2>&1; echo $?)" 'key' "$realmfs" set "$encrypted" Person/4 age=1
check_status "6: a wrong key" 6 'key' env K="$(printf '%0128d' 7)" "$realmfs" set --key-env K "$encrypted" Person/4 age=1
synced=$(copy_fixture synced)
class=$("$realmfs" info --json "$synced" | jq -r '.classes[0].name')
check_status "1: a synced realm names convert" 1 "sync history.*'realmfs convert --local'" "$realmfs" delete "$synced" "$class" TRUEPREDICATE
check "and is as it was" cmp "$synced" "$fixtures/synced.realm"
cp "$fixtures/old/v10-core-6.0.realm" old.realm && chmod 644 old.realm
class=$("$realmfs" info --json old.realm | jq -r '.classes[0].name')
check_status "7: an older format names upgrade" 7 "format 10 .*'realmfs upgrade old.realm'" "$realmfs" insert old.realm "$class" '{}'
check "and nothing is beside it" test ! -e old.realm.lock
check_status "3: a missing file" 3 'No such file' "$realmfs" set absent.realm Person/4 age=1
check "nothing is made" test ! -e absent.realm

# beside a mount
cp "$fixtures/people.realm" shared.realm && chmod 644 shared.realm
point=$(new_directory mnt)
if serve "$scratch/shared.realm" "$point"; then
  check "set beside a mount" "$realmfs" set -q shared.realm Person/4 age=44
  equal "the mount sees it" "44" "$(jq .age "$point/Person/4.json")"
  check "delete beside a mount" "$realmfs" delete -q shared.realm Dog/Rex
  check "the mount sees that too" test ! -e "$point/Dog/Rex.json"
  stop_server "$point"
fi

# damage: a change that reaches it is refused with exit code 4
for item in "$fixtures"/people.realm; do
  for offset in $(seq 24 61 4000); do
    cp "$item" broken.realm && chmod 644 broken.realm
    printf '\xff\xee\xdd\xcc' | dd of=broken.realm bs=1 seek="$offset" conv=notrunc status=none
    for change in "set broken.realm Person/4 age=5 name=x" "delete broken.realm Dog/Rex" "insert broken.realm Dog name=N"; do
      timeout 20 bash -c "ulimit -v 4000000; exec '$realmfs' $change" >out 2>&1
      status=$?
      case $status in
        0 | 1 | 3 | 4 | 5 | 6 | 7 | 8) ;;
        *) not_ok "damage at $offset: $change ended with $status: $(cat out)" ;;
      esac
    done
  done
  ok "damage never ends a change by a signal"
done
