#!/usr/bin/env bash
# `realmfs undo` undoes the last commit, and earlier ones step by step: of objects with their links, of the schema, of a
# mount, of an encrypted realm; and reports why it cannot.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
file=$(copy_fixture people)
# same WHAT OLD NEW: no difference, and a sound file.
same() {
  check_status "$1" 0 '^$' "$realmfs" diff "$2" "$3"
  check "$1: the file is sound" "$realmfs" check "$3"
}
for command in "set Person/4 age=99 dog=null friends=[]" "delete Dog/Rex Dog/Fido" "delete --yes Person TRUEPREDICATE" \
  'insert Dog {"name":"Undo"}' "set Person/4 name=$(head -c 3000 /dev/zero | tr '\0' x)"; do
  cp "$file" before.realm
  cp "$file" work.realm
  # shellcheck disable=SC2086
  set -- $command
  name=$1
  shift
  [ "$1" = --yes ] && yes=--yes && shift || yes=
  "$realmfs" "$name" --quiet $yes work.realm "$@"
  cp work.realm changed.realm
  equal "$name $1: --dry-run shows the way back" "$("$realmfs" diff changed.realm before.realm | sort)" \
    "$("$realmfs" undo --dry-run --quiet work.realm | sort)"
  same "$name $1: --dry-run changes nothing" changed.realm work.realm
  check_status "$name $1: undo says what it did" 0 \
    'undid version [0-9]+ \((Person|Dog): [0-9]+ (changed|deleted|created).*\); now at the content of version [0-9]+' \
    "$realmfs" undo work.realm
  same "$name $1 is taken back" before.realm work.realm
  check "redo" "$realmfs" undo --redo --quiet work.realm
  same "$name $1: --redo takes back the undo" changed.realm work.realm
  check_status "$name $1: there is nothing more to redo" 1 'the last commit is not an undo' "$realmfs" undo --redo work.realm
  rm -rf work.realm*
done

# The schema, while the realm stays mounted.
point=$(new_directory mnt)
cp "$file" work.realm
serve "$scratch/work.realm" "$point" -o create_classes
rm "$point"/Dog/*.json && rmdir "$point/Dog" 2>/dev/null
jq '.schema |= map(select(.name == "Person") | .properties |= del(.age, .dog))' "$point/.realm/schema.json" >schema.json
check_status "undo of a mount's last save" 0 'undid version' "$realmfs" undo work.realm
equal "the mount shows it" "1" "$(ls "$point/Dog" | wc -l)"
before=$("$realmfs" schema work.realm; "$realmfs" cat work.realm Person)
mkdir "$point/New"
check_status "a class that was made" 0 'undid version [0-9]+ \(schema\)' "$realmfs" undo work.realm
check "is gone" wait_until 5 test ! -e "$point/New"
equal "all else is as it was" "$before" "$("$realmfs" schema work.realm; "$realmfs" cat work.realm Person)"
stop_server "$point"

cp "$fixtures/people-encrypted.realm" secret.realm
"$realmfs" set --quiet --key-file "$key_file" secret.realm Person/4 age=99
check "an encrypted realm" "$realmfs" undo --quiet --key-file "$key_file" secret.realm
check_status "is as before" 0 '^$' "$realmfs" diff --key-file "$key_file" "$fixtures/people-encrypted.realm" secret.realm
equal "--json has the versions" "true" \
  "$("$realmfs" undo --redo --json --key-file "$key_file" secret.realm | jq '.undone == .restored + 1 and .version == .undone + 1')"

# Each undo reverts one more commit, until no older version is left; never back and forth.
"$realmfs" create --schema <("$realmfs" schema "$file") steps.realm
for value in 1 2 3 4 5 6; do
  "$realmfs" insert --quiet steps.realm Dog "name=dog $value"
  cp steps.realm "state-$value.realm"
done
for value in 5 4 3; do
  check_status "undo goes back to commit $value" 0 'undid version [0-9]+ \(Dog: 1 created\)' "$realmfs" undo steps.realm
  same "which is whole" "state-$value.realm" steps.realm
done
check "a change after that" "$realmfs" insert --quiet steps.realm Dog 'name=new'
check_status "is what the next undo takes back" 0 'undid version [0-9]+ \(Dog: 1 created\)' "$realmfs" undo steps.realm
same "and no more" state-3.realm steps.realm
while "$realmfs" undo --quiet steps.realm 2>/dev/null; do undone=$(("${undone:-0}" + 1)); done
check_status "in the end nothing is left to undo" 3 'nothing to undo' "$realmfs" undo steps.realm
check "and the realm is sound" "$realmfs" check steps.realm

# Confirmation on a terminal.
if command -v script >/dev/null; then
  cp "$file" asked.realm
  "$realmfs" delete --quiet asked.realm Dog/Rex
  cp asked.realm deleted.realm
  echo n | timeout 60 script -qec "'$realmfs' undo asked.realm" /dev/null >asked
  check "undo asks on a terminal" grep -Eq 'Undo version [0-9]+ \(Person: 3 changed; Dog: 1 deleted|Undo version [0-9]+ \(Dog: 1 deleted' asked
  same "no keeps it as it is" deleted.realm asked.realm
  echo y | timeout 60 script -qec "'$realmfs' undo asked.realm" /dev/null >asked
  same "yes undoes it" "$file" asked.realm
  timeout 60 script -qec "'$realmfs' undo --redo --yes asked.realm" /dev/null </dev/null >asked
  same "--yes does not ask" deleted.realm asked.realm
else
  skip "script(1) is absent: nothing was asked on a terminal"
fi

"$realmfs" compact work.realm >/dev/null
check_status "a file that was compacted has nothing to undo" 3 'no version before [0-9]+ is left in the file' \
  "$realmfs" undo work.realm
"$realmfs" create new.realm
check_status "nor has a new one" 3 'nothing to undo' "$realmfs" undo new.realm
check_status "an older format is not changed" 7 "realmfs upgrade" "$realmfs" undo "$fixtures/old/v9-core-5.23.9.realm"
check_status "5: no key" 5 'key' "$realmfs" undo "$fixtures/people-encrypted.realm"
for damaged in "$fixtures"/damaged/*.realm; do
  name=$(basename "$damaged" .realm)
  cp "$damaged" damaged.realm
  timeout 60 "$realmfs" undo --quiet damaged.realm >out 2>&1
  status=$?
  case $status in
    0 | 1 | 3 | 4 | 5 | 6 | 7) ok "damaged/$name ends with $status" ;;
    *) not_ok "damaged/$name: status $status: $(head -c 300 out)" ;;
  esac
  [ $status -eq 0 ] || equal "damaged/$name: a refusal changes nothing" "" "$(cmp "$damaged" damaged.realm 2>&1)"
  rm -rf damaged.realm*
done
