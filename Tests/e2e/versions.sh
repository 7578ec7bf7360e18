#!/usr/bin/env bash
# The versions that remain in a file: `realmfs versions`, `--version N`, `undo --list`, `.realm/versions`; while other
# programs run, after a killed writer, of encrypted realms, and without changing a file.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
file=$(copy_fixture people)
lines() { for class in Person Dog; do "$realmfs" cat "$@" "$class"; done; }
whole() { "$realmfs" versions --json "$@" | jq -r '.[] | select(.state == "whole") | .version'; }

# A copy of each version, to compare every result with.
newest() { "$realmfs" versions --json "$@" | jq '.[0].version'; }
keep() { cp "$1" "state-$(newest "$1").realm"; }
first=$(newest "$file")
keep "$file"
for value in 50 51 52; do
  "$realmfs" set --quiet "$file" Person/4 age=$value
  keep "$file"
done
"$realmfs" delete --quiet "$file" Dog/Rex
keep "$file"
last=$(newest "$file")
equal "each commit is a version" "$((first + 4))" "$last"
equal "those that the next commits spared are whole" "$(seq "$last" -1 "$first" | head -5)" "$(whole "$file" | head -5)"
check_status "the table says what a version changed" 0 "^$last +whole .*slot [01] \(selected\) +Dog: 1 deleted; Person: [0-9]+ changed" \
  "$realmfs" versions "$file"
equal "the newest version is the one that the header selects" "true" \
  "$("$realmfs" versions --json "$file" | jq '.[0].selected and (.[1].slots | length) == 1 and .[2].slots == []')"
for version in $(whole "$file"); do
  state=state-$version.realm
  [ -e "$state" ] || continue
  equal "version $version is what it was: cat" "$(lines "$state")" "$(lines --version "$version" "$file")"
  equal "version $version: export" "$("$realmfs" export "$state")" "$("$realmfs" export --version "$version" "$file")"
  equal "version $version: schema" "$("$realmfs" schema "$state")" "$("$realmfs" schema --version "$version" "$file")"
  equal "version $version: query" "$("$realmfs" query "$state" Person 'age > 40 SORT(age ASC)')" \
    "$("$realmfs" query --version "$version" "$file" Person 'age > 40 SORT(age ASC)')"
  equal "version $version: diff" "$("$realmfs" diff "$state" "$file")" "$("$realmfs" diff --version "$version" "$file")"
  equal "version $version: a file of the tree" "$version" "$("$realmfs" cat --version "$version" "$file" .realm/version)"
done
equal "--changes begins with a gap and ends with the last commit" "true,null $last delete Rex" \
  "$("$realmfs" versions --changes "$file" | jq -rs '"\(.[0].gap),\(.[0].time) \(.[-1].version) \(map(select(.version == '"$last"' and .class == "Dog"))[0] | "\(.op) \(.key)")"')"
equal "undo --list goes back as far as undo" "$(whole "$file" | tail -n +2)" "$("$realmfs" undo --list --json "$file" | jq '.[].version')"
check_status "and says what would be undone" 0 "^version $((last - 1))  undoes version $last \(Dog: 1 deleted; Person: [0-9]+ changed\)" \
  "$realmfs" undo --list "$file"
equal "which changes nothing" "$last" "$(newest "$file")"
check_status "an unknown version: the error lists those that there are" 3 "no version 999; the file holds versions $last, $((last - 1)), " \
  "$realmfs" cat --version 999 "$file"
check_status "no version number" 2 'expected a version number' "$realmfs" cat --version first "$file"

# Damage: no version is whole.
"$realmfs" versions --json "$file" >versions.json
offset=$(jq '.[1].offset' versions.json) previous=$(jq '.[1].version' versions.json)
cp "$file" damaged.realm
head -c 24 /dev/zero | dd of=damaged.realm bs=1 seek=$((offset + 8)) conv=notrunc 2>/dev/null
equal "a version whose root is lost is not listed" "" "$("$realmfs" versions --json damaged.realm | jq ".[] | select(.version == $previous)")"
cp "$file" headless.realm
head -c 24 /dev/zero | dd of=headless.realm conv=notrunc 2>/dev/null
check_status "a file that does not open: exit code 4" 4 '^[0-9]+ +unproven +[0-9]+ +search' "$realmfs" versions headless.realm
equal "none of its versions is whole" "" "$(whole headless.realm 2>/dev/null)"
check_status "one is read with a warning" 0 "version $last is unproven: a check finds no fault" \
  "$realmfs" cat --version "$last" headless.realm Dog
equal "and is what it was" "$(lines "state-$last.realm")" "$(lines --version "$last" headless.realm 2>/dev/null)"

# No file is created or changed.
mkdir still && cp "$file" still/a.realm && chmod 555 still
stamp=$(stat -c '%x %y %z' still/a.realm | cut -d' ' -f3-)
equal "--immutable" "$(whole "$file")" "$(whole --immutable still/a.realm)"
"$realmfs" cat --version "$first" still/a.realm Person >/dev/null
equal "creates no file" "a.realm" "$(ls -A still)"
equal "and touches none" "$stamp" "$(stat -c '%x %y %z' still/a.realm | cut -d' ' -f3-)"
chmod 755 still

# Encrypted.
cp "$fixtures/people-encrypted.realm" secret.realm
for value in 1 2 3; do
  "$realmfs" set --quiet --key-file "$key_file" secret.realm Person/4 age=$value
  cp secret.realm "secret-$value.realm"
done
former=$(whole --key-file "$key_file" secret.realm | sed -n 2p)
equal "a former version of an encrypted realm" "$(lines --key-file "$key_file" secret-2.realm)" \
  "$(lines --key-file "$key_file" --version "$former" secret.realm)"

# Every mount has them as trees, and keeps one readable while others commit.
point=$(new_directory mnt)
serve "$file" "$point"
equal "the mount lists the former versions" "$(whole "$file" | tail -n +2 | sort -n)" "$(ls "$point/.realm/versions" | sort -n)"
equal "a listing of .realm does not have them" "" "$(ls "$point/.realm" | grep versions)"
equal "a former version is a tree" "$(lines "state-$first.realm")" \
  "$(cat "$point/.realm/versions/$first/Person/.all.jsonl" "$point/.realm/versions/$first/Dog/.all.jsonl")"
equal "diff -r finds what changed" "4.json" \
  "$(diff -rq "$point/.realm/versions/$first/Person" "$point/Person" | grep -o '4\.json' | head -n 1)"
check "a deleted object is copied back" cp "$point/.realm/versions/$((last - 1))/Dog/Rex.json" "$point/Dog/"
equal "it is there" "$(jq -c . "$point/.realm/versions/$((last - 1))/Dog/Rex.json")" "$(jq -c . "$point/Dog/Rex.json")"
check_status "a former version is read-only" 2 'Read-only' sh -c "echo x >'$point/.realm/versions/$first/Dog/new.json'"
check_status "a version that is not there" 2 'No such file' ls "$point/.realm/versions/999"
check_status "nor is one of another spelling" 2 'No such file' ls "$point/.realm/versions/0$first"
cd "$point/.realm/versions/$((last - 2))/Person" || exit 1
before=$(cat ./*.json)
for round in $(seq 40); do "$realmfs" set --quiet "$file" Person/4 age="$round" "email=$(head -c $((round * 90)) /dev/zero | tr '\0' x)"; done
equal "a former version stays while others commit" "$before" "$(cat ./*.json)"
equal "as does its state" "$("$realmfs" cat "$scratch/state-$((last - 2)).realm" Person)" "$(cat .all.jsonl)"
cd "$scratch" || exit 1
check_status "--immutable beside a mount: exit code 8" 8 'in use by' "$realmfs" versions --immutable "$file"
check "beside a mount its writers wait" "$realmfs" versions "$file"
stop_server "$point"
check "the realm is sound" "$realmfs" check "$file"
cp "$file" copy.realm
for option in --read-only --immutable; do
  [ "$option" = --read-only ] && target=$file || target=$scratch/copy.realm
  serve "$target" "$point" "$option"
  version=$(whole "$target" 2>/dev/null | sed -n 2p)
  equal "$option: the former versions" "$(whole "$target" | tail -n +2 | sort -n)" "$(ls "$point/.realm/versions" | sort -n)"
  equal "$option: are trees" "$("$realmfs" cat --version "$version" "$target" Person)" "$(cat "$point/.realm/versions/$version/Person/.all.jsonl")"
  stop_server "$point"
done
equal "an immutable mount creates nothing" "copy.realm" "$(ls -d copy.realm*)"

# Another program commits while a version is read.
items=$(copy_fixture items-10k)
class=$("$realmfs" cat "$items" | head -n 1)
"$realmfs" query "$items" "$class" "TRUEPREDICATE LIMIT(3)" >three.jsonl
property=$(jq -rs '.[0] | to_entries[] | select(.value | type == "string") | .key' three.jsonl | tail -n 1)
"$realmfs" export --class "$class" "$items" | jq -c "select(.\"$property\" | type == \"string\") | .\"$property\" += \"!\"" | head -n 500 >changed.jsonl
cp "$items" items-before.realm
"$realmfs" import --quiet --class "$class" "$items" changed.jsonl
former=$("$realmfs" versions --json "$items" | jq '.[1].version')
"$realmfs" export --version "$former" --class "$class" "$items" | {
  head -c 1000 >read.jsonl
  for round in 1 2 3 4 5 6 7 8; do
    jq -c ".\"$property\" += \"$round\"" changed.jsonl >again.jsonl
    "$realmfs" import --quiet --class "$class" "$items" again.jsonl
  done
  cat >>read.jsonl
}
check "a version is read in full while another program commits" cmp read.jsonl <("$realmfs" export --class "$class" items-before.realm)
check "and those commits are sound" "$realmfs" check "$items"

# A killed writer: each version reported as whole is what was committed.
wrong=0 found=0
for round in $(seq 12); do
  cp "state-$last.realm" killed.realm
  rm -rf killed.realm.*
  "$realmfs" import --quiet --batch 20 --class Dog killed.realm - < <(for i in $(seq 4000); do echo "{\"name\":\"dog $i\"}"; done) 2>/dev/null &
  importer=$!
  sleep "0.$((round * 7 % 10))$round"
  { kill -9 "$importer" && wait "$importer"; } 2>/dev/null
  for version in $(whole killed.realm); do
    found=$((found + 1))
    count=$("$realmfs" query --version "$version" --count killed.realm Dog)
    # Each batch of the import adds 20 dogs to those of the copy.
    expected=$((4 + (version - last) * 20))
    if [ "$version" -le "$last" ]; then expected=$("$realmfs" query --count "state-$version.realm" Dog 2>/dev/null || echo "$count"); fi
    [ "$version" -gt "$last" ] && [ "$expected" -gt 4004 ] && expected=4004
    [ "$count" = "$expected" ] || wrong=$((wrong + 1))
  done
done
equal "after kills, no whole version is anything else ($found versions)" "0" "$wrong"
[ "$found" -gt 12 ] || not_ok "only $found whole versions after kills"
