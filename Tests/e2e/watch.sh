#!/usr/bin/env bash
# `realmfs watch`: a line for each new version, and a command after it.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
file=$(copy_fixture people)
"$realmfs" watch --exec 'echo "ran for $REALMFS_CLASSES"' "$file" >lines 2>errors &
watcher=$!
background+=("$watcher")
has_line() { grep -q "$1" lines; }
wait_until 10 has_line '^watching version'
echo '{"name": "Ace"}' >Dog.jsonl && "$realmfs" import "$file" Dog.jsonl
check "a line tells what changed" wait_until 10 has_line '^version [0-9]*: Dog 5 -> 6 objects$'
equal "the first line tells where it begins" "watching version 5" "$(head -1 lines)"
check "the command runs, and knows the classes" wait_until 10 has_line '^ran for Dog$'
echo '{"name": "Ace", "weight": 2}' >Dog.jsonl && "$realmfs" import "$file" Dog.jsonl
check "a change without a new object" wait_until 10 has_line ': Dog changed$'
kill -TERM $watcher
check "SIGTERM ends it" wait_until 5 is_dead $watcher
"$realmfs" watch --json "$file" >json 2>>errors &
watcher=$!
background+=("$watcher")
sleep 1
echo '{"name": "Bo"}' >Dog.jsonl && "$realmfs" import "$file" Dog.jsonl
has_json() { jq -e '.classes[0] | .name == "Dog" and .before == 6 and .after == 7' json; }
check "as JSON Lines" wait_until 10 has_json
equal "no errors" "" "$(cat errors)"

# --diff: the objects, as text and as JSON.
"$realmfs" watch --diff "$file" >objects 2>>errors &
watcher=$!
"$realmfs" watch --diff --json "$file" >objects.json 2>>errors &
other=$!
background+=("$watcher" "$other")
has_begun() { grep -q '^watching version' objects; }
check "--diff begins with the version" wait_until 10 has_begun
"$realmfs" set --quiet "$file" Dog/Bo weight=3
has_object() { grep -qx -- "$1" objects; }
check "--diff names what changed" wait_until 10 has_object '~ Dog/Bo.json weight: 0.0 -> 3.0'
"$realmfs" insert --quiet "$file" Dog name=Cleo
check "--diff names what was made" wait_until 10 has_object '+ Dog/Cleo.json {"name":"Cleo".*}'
"$realmfs" delete --quiet --yes "$file" Dog/Cleo
check "--diff names what was deleted" wait_until 10 has_object '- Dog/Cleo.json {"name":"Cleo".*}'
has_json_object() {
  "$realmfs" insert --quiet "$file" Dog name=Cleo && "$realmfs" delete --quiet --yes "$file" Dog/Cleo
  jq -es 'map(select(.change == "removed" and .name == "Cleo.json")) != []' objects.json
}
check "--diff as JSON Lines" wait_until 10 has_json_object
# Programs that share a file continue with it; one alone follows the path.
kill -TERM $other && wait $other
cp "$fixtures/people.realm" other.realm && "$realmfs" set --quiet other.realm Dog/Fido weight=77 && mv other.realm "$file"
check "--diff with the file that takes its place" wait_until 10 has_object '~ Dog/Fido.json weight: .* -> 77.0'
kill -TERM $watcher
wait $watcher
equal "SIGTERM ends --diff" 143 $?
"$realmfs" watch --diff "$file" 2>>errors | head -n 1 >first &
reader=$!
wait_until 10 test -s first
"$realmfs" set --quiet "$file" Dog/Fido weight=3
check "--diff ends with its reader" wait_until 10 is_dead $reader

# --changes: a line for each object.
"$realmfs" watch --changes "$file" >changes 2>>errors &
watcher=$!
background+=("$watcher")
sleep 1
echo '{"name": "Cy"}' >Dog.jsonl && "$realmfs" import "$file" Dog.jsonl
has_change() { jq -e '.op == "insert" and .class == "Dog" and .key == "Cy" and .after.name == "Cy"' changes; }
check "a change has its class, key and object" wait_until 10 has_change
kill -TERM $watcher
wait $watcher
equal "SIGTERM ends it" 143 $?
version=$(jq .version changes)
since() { timeout 5 "$realmfs" watch --changes --since "$1" "$file" 2>since_errors | head -n 1; }
equal "since the version before: the last change again" "$(jq -c 'del(.time)' changes)" \
  "$(since $((version - 1)) | jq -c 'del(.time)')"
equal "since one that is gone: a gap" "$version true" "$(since 1 | jq -r '"\(.version) \(.gap)"')"
equal "and since the largest number" "$version true" \
  "$(since 18446744073709551615 | jq -r '"\(.version) \(.gap)"')"
since 1 >/dev/null
check "which is told" grep -q 'version 1 is no longer there' since_errors
check_status "--since is for changes" 2 'goes with --changes' "$realmfs" watch --since 1 "$file"
"$realmfs" watch --changes "$file" 2>>errors | head -n 1 >first &
reader=$!
sleep 1
"$realmfs" insert --quiet "$file" Dog '{"name": "Di", "weight": 1}'
check "it ends with its reader" wait_until 10 is_dead $reader
check "which has the line" grep -q '"key":"Di"' first

# A watch whose output is not read keeps no version in use: space is reused.
mkfifo slow
exec 5<>slow
"$realmfs" watch --changes "$file" >slow 2>>errors &
watcher=$!
background+=("$watcher")
sleep 1
churn() {
  for i in $(seq 40); do
    "$realmfs" set --quiet "$file" Person/18 "name=$(printf '%08000d' "$i")" >>set_out 2>&1 || return
  done
}
# Two seconds after its buffer is full, it no longer makes the file grow.
has_stopped_growing() {
  churn
  local first
  first=$(stat -c %s "$file")
  churn && churn && [ "$first" = "$(stat -c %s "$file")" ]
}
churn
churn
sleep 2.5
check "the file does not grow because of one that is slow" wait_until 60 has_stopped_growing
kill -TERM $watcher
exec 5<&-
equal "no errors of these" "" "$(cat errors)"
