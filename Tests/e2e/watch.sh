#!/usr/bin/env bash
# `realmfs watch`: a line for each new version, and a command after it.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
file=$(copy_fixture people)
"$realmfs" watch --exec 'echo "ran for $REALMFS_CLASSES"' "$file" >lines 2>errors &
watcher=$!
background+=("$watcher")
sleep 1
echo '{"name": "Ace"}' >Dog.jsonl && "$realmfs" import "$file" Dog.jsonl
has_line() { grep -q "$1" lines; }
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
