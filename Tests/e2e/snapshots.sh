#!/usr/bin/env bash
# .realm/snapshots: held versions, each as a whole tree.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" || exit
snapshots=$point/.realm/snapshots
tree() { (cd "$1" && find . -path ./.realm -prune -o -type f -print0 | sort -z | xargs -0 sha256sum); }

equal "there are none at first" "" "$(ls "$snapshots")"
check "mkdir makes one" mkdir "$snapshots/before"
before=$(tree "$point")
equal "it has the whole tree" "$before" "$(tree "$snapshots/before")"
check "objects change" bash -c 'echo "{\"age\": 77}" >"$1/Person/4.json"' - "$point"
check "and go" rm "$point/Person/11.json"
check "and come, by another program" "$realmfs" insert --quiet "$file" Dog '{"name": "Snoopy", "weight": 3}'
check "a property is added" bash -c \
  'jq ".schemaVersion += 1 | (.schema[] | select(.name == \"Dog\").properties.color) = \"string?\"" "$1" >"$2" && cp "$2" "$1"' - \
  "$point/.realm/schema.json" "$scratch/schema.json"
equal "the snapshot has what was there" "$before" "$(tree "$snapshots/before")"
check_status "diff shows what changed" 1 'Only in .*: 11.json' diff -r "$snapshots/before/Person" "$point/Person"
equal "an object that is gone is copied out" "$(jq -c .name "$snapshots/before/Person/11.json")" \
  "$(cp "$snapshots/before/Person/11.json" "$point/Person/11.json" && jq -c .name "$point/Person/11.json")"
# Changes since the snapshot, one line for each object.
changes=$snapshots/before/.changes
equal "the lines of objects that changed" $'{"age":21} {"age":77}\n{"friends":[11,18]} {"friends":[18]}' \
  "$(jq -rc 'select(.class == "Person" and .op == "update") | "\(.before) \(.after)"' "$changes")"
equal "of one that came, by another program" '{"name":"Snoopy","weight":3}' \
  "$(jq -c 'select(.class == "Dog" and .op == "insert").after | {name, weight}' "$changes")"
equal "and of a class whose schema changed" 'false true' \
  "$(jq -r 'select(.op == "schema" and .class == "Dog") | "\(.before.properties | has("color")) \(.after.properties | has("color"))"' "$changes")"
equal "they have the newest version" "$(cat "$point/.realm/version")" "$(jq -s 'map(.version) | unique[]' "$changes")"
equal "an object that one program removed and another one made is another object" "delete insert" \
  "$(jq -r 'select(.class == "Person" and .key == 11).op' "$changes" | sort | tr '\n' ' ' | sed 's/ $//')"
equal "blocks of any size read the same" "$(sha256sum <"$changes")" "$(dd if="$changes" bs=7 status=none | sha256sum)"
check_status "it is not written" 1 'Operation not permitted|Permission denied' bash -c 'echo >"$1"' - "$changes"
check "a second one" mkdir "$snapshots/after"
equal "right away nothing differs" "" "$(cat "$snapshots/after/.changes")"
equal "they are listed" "after before" "$(ls "$snapshots" | tr '\n' ' ' | sed 's/ $//')"
equal "also with their versions" "before after" "$(jq -r '[.snapshots[].name] | join(" ")' "$point/.realm/info.json")"
check_status "a name is taken once" 1 'File exists' mkdir "$snapshots/after"
equal "queries are of the version" "21 77" \
  "$(jq .age "$snapshots/before/Person/.where/_id == 4/4.json") $(jq .age "$snapshots/after/Person/.fields/4/../../4.json")"
equal "so is everything about it" "false true" \
  "$(for s in before after; do jq '[.schema[] | select(.name == "Dog").properties | has("color")] | any' "$snapshots/$s/.realm/schema.json"; done | tr '\n' ' ' | sed 's/ $//')"
equal "queries that compare, too" " 4.json" \
  "$(for s in before after; do ls "$snapshots/$s/Person/.where/_id == 4 AND age == 77"; done | xargs printf ' %s')"
equal "and all objects in one file" "21 77" \
  "$(for s in before after; do jq 'select(._id == 4).age' "$snapshots/$s/Person/.all.jsonl"; done | xargs)"
check "which has all of them" bash -c 'test "$(wc -l <"$1")" = 19' - "$snapshots/before/Person/.all.jsonl"
for change in 'echo "{}" >"$1/before/Person/4.json"' 'rm "$1/before/Person/4.json"' 'touch "$1/before/Person/1.json"' \
  'mkdir "$1/before/Cat"' 'mv "$1/before/Person/4.json" "$1/before/Person/x"' 'rmdir "$1/before/Dog"'; do
  check_status "nothing is changed in it: ${change%% *}" 1 'Read-only file system' bash -c "$change" - "$snapshots"
done
# A restore is one commit, which the other snapshot undoes.
pid_version() { cat "$point/.realm/version"; }
now=$(tree "$point")
version=$(pid_version)
check "a snapshot is brought back" bash -c 'echo 1 >"$1"' - "$snapshots/before/.restore"
equal "the whole tree is what it was" "$before" "$(tree "$point")"
equal "and nothing differs" "" "$(cat "$snapshots/before/.changes")"
equal "in one commit" $((version + 1)) "$(pid_version)"
check "again, it changes nothing" bash -c 'echo 1 >"$1"' - "$snapshots/before/.restore"
equal "and commits nothing" $((version + 1)) "$(pid_version)"
check "another snapshot undoes that" bash -c 'echo 1 >"$1"' - "$snapshots/after/.restore"
equal "all is as it was before" "$now" "$(tree "$point")"
check_status "anything but 1 is refused" 1 'Invalid argument' bash -c 'echo yes >"$1"' - "$snapshots/after/.restore"
check "and says why" grep -q 'snapshots/after/.restore.*write 1' "$point/.realm/errors"
check_status "the realm is sound" 0 sound "$realmfs" check "$file"
exec 3<"$snapshots/before/Person/74.json"
check "rmdir lets go of it" rmdir "$snapshots/before"
equal "a file that is open is read on" '{' "$(head -1 <&3)"
exec 3<&-
check_status "it is gone" 2 'No such file' ls "$snapshots/before"
equal "the other one is there" 1 "$(ls "$snapshots" | wc -l)"
check "the name can be given again" mkdir "$snapshots/before"
equal "to the version of now" 77 "$(jq .age "$snapshots/before/Person/4.json")"

# Another name.
check "mv gives a snapshot another name" mv "$snapshots/after" "$snapshots/later"
equal "it has it, and its tree" "77 before later" \
  "$(jq .age "$snapshots/later/Person/4.json") $(ls "$snapshots" | tr '\n' ' ' | sed 's/ $//')"
check_status "the other one is gone" 2 'No such file' ls "$snapshots/after"
check_status "not one that is taken" 1 'not empty|File exists' mv -T "$snapshots/later" "$snapshots/before"
check_status "it stays where it is" 1 'Operation not permitted' mv "$snapshots/later" "$point/later"
check "the name is free again" mkdir "$snapshots/after"
rmdir "$snapshots/after"
mv "$snapshots/later" "$snapshots/after"

# While a version is held, its space is not reused, but space that later commits allocated and released is.
size() { stat -c %s "$file"; }
churn() { for i in $(seq 150); do echo "{\"age\": $i, \"name\": \"$(printf '%01000d' "$i")\"}" >"$point/Person/18.json" || return; done; }
check "many commits while it is held" churn
cost() { jq --arg name "$1" '.snapshots[] | select(.name == $name).heldBytes' "$point/.realm/info.json"; }
check "a new one costs nothing" bash -c 'mkdir "$1/new"' - "$snapshots"
equal "info.json tells what each one costs, which is little of 150 saves of 1000 bytes" "little 0" \
  "$([ "$(cost before)" -gt 0 ] && [ "$(cost before)" -lt 100000 ] && echo little) $(cost new)"
rmdir "$snapshots/new"
check "it still has its version" test "$(jq .age "$snapshots/before/Person/18.json")" != 150
rmdir "$snapshots/before" "$snapshots/after"
stop_server "$point"
check_status "the file is sound" 0 sound "$realmfs" check "$file"
serve "$file" "$point" || exit
equal "snapshots end with the mount" "" "$(ls "$snapshots")"
stop_server "$point"

# Another program has the realm open, so the session outlives the mount.
"$realmfs" watch "$file" >"$scratch/watched" &
background+=($!)
serve "$file" "$point" || exit
mkdir "$snapshots/held"
churn
first=$(size)
churn
check "a snapshot that is held does not make the file grow with each save" test "$(size)" -le $((2 * first))
stop_server "$point"
serve "$file" "$point" || exit
churn
first=$(size)
churn
equal "unmounting lets go of it" "$first" "$(size)"
stop_server "$point"

# --max-versions counts them.
serve "$file" "$point" --max-versions 4 || exit
# The limit is checked at close, whose error cp reports.
save() { echo "{\"age\": $1}" >"$scratch/18.json" && cp "$scratch/18.json" "$point/Person/18.json"; }
hold_some() {
  for i in 1 2 3 4; do
    mkdir "$snapshots/s$i" || return 2
    save "$i" 2>"$scratch/refusal" || return 0
  done
  return 1
}
check "so many versions are too many" hold_some
check "which is told" grep -q 'temporarily unavailable' "$scratch/refusal"
check "and why" grep -q 'versions are in use' "$point/.realm/errors"
rmdir "$snapshots"/s*
check "without them there is room again" wait_until 10 save 9
stop_server "$point"
