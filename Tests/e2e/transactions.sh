#!/usr/bin/env bash
# .realm/tx and `realmfs tx`: changes of several files in one commit, or none.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" || exit
tx=$point/.realm/tx
tree() { (cd "$1" && find . -path ./.realm -prune -o -type f -print0 | sort -z | xargs -0 sha256sum); }
version() { cat "$point/.realm/version"; }

equal "there are none at first" "" "$(ls "$tx")"
check "mkdir begins one" mkdir "$tx/fix"
before=$(tree "$point")
equal "it shows the whole tree" "$before" "$(tree "$tx/fix")"
check "objects change in it" bash -c 'echo "{\"age\": 77}" >"$1/Person/4.json"' - "$tx/fix"
check "and go" rm "$tx/fix/Person/11.json"
check "and come, before what they link to" bash -c \
  'echo "{\"name\": \"Zoe\", \"dog\": \"Snoopy\"}" >"$1/Person/900.json" && echo "{}" >"$1/Dog/Snoopy.json"' - "$tx/fix"
check "sed -i works in it" sed -i 's/"age": 77/"age": 78/' "$tx/fix/Person/4.json"
check "mv over an object works in it" bash -c \
  'jq ".age = 79" "$1/Person/4.json" >"$1/Person/4.json.tmp" && mv "$1/Person/4.json.tmp" "$1/Person/4.json"' - "$tx/fix"
equal "all of that shows in it" "79 Snoopy" "$(jq .age "$tx/fix/Person/4.json") $(jq -r .dog "$tx/fix/Person/900.json")"
equal "queries, counts and whole classes are its own" "900.json 1 1" \
  "$(ls "$tx/fix/Person/.where/name == \"Zoe\"") $(cat "$tx/fix/Person/.where/name == \"Zoe\"/.count") $(grep -c Zoe "$tx/fix/Person/.all.jsonl")"
equal "nothing of it shows outside" "$before" "$(tree "$point")"
equal "what would change is told" "delete insert insert update update" \
  "$(jq -r .op "$tx/fix/.diff" | sort | tr '\n' ' ' | sed 's/ $//')"
check "it can be tested" touch "$tx/fix/.test"
was=$(version)
inside=$(tree "$tx/fix")
check "touch .commit commits" touch "$tx/fix/.commit"
equal "in one version" $((was + 1)) "$(version)"
equal "which shows what it showed" "$inside" "$(tree "$point")"
equal "the directory is gone" "" "$(ls "$tx")"

mkdir "$tx/a" "$tx/b"
echo '{"age": 1}' >"$tx/a/Person/4.json"
echo '{"age": 2}' >"$tx/b/Person/4.json"
echo '{"age": 3}' >"$tx/b/Person/18.json"
check "of two that change one object the first commits" bash -c 'echo 1 >"$1/a/.commit"' - "$tx"
check_status "the other does not" 1 'Stale file handle' bash -c 'echo 1 >"$1/b/.commit"' - "$tx"
check_status "and says which object it is" 0 'Person/4.json".*"conflict": true' cat "$tx/b/.log"
equal "nothing of it was made" "1 null" "$(jq .age "$point/Person/4.json") $(jq 'select(.age == 3)' "$point/Person/18.json")null"
check "rmdir drops it" rmdir "$tx/b"
mkdir "$tx/c"
check_status "a text that is refused is seen at once" 1 'Invalid argument' bash -c 'echo "{\"age\": \"x\"}" >"$1/Person/4.json"' - "$tx/c"
check_status "and keeps all from being committed" 1 'Invalid argument' bash -c 'echo 1 >"$1/.commit"' - "$tx/c"
check "until it is mended" bash -c 'echo "{\"age\": 5}" >"$1/Person/4.json" && echo 1 >"$1/.commit"' - "$tx/c"
equal "it is there then" 5 "$(jq .age "$point/Person/4.json")"
mkdir "$tx/d"
check "sed -i of .all.jsonl saves in a transaction" sed -i 's/"age":5/"age":6/' "$tx/d/Person/.all.jsonl"
check "a name that no object can have is a file in memory" bash -c 'echo "{\"age\": 6}" >"$1/Person/foo.json"' - "$tx/d"
check_status "which the commit would lose" 1 'Invalid argument' touch "$tx/d/.commit"
check_status "so it says which it is" 0 'Person/foo.json.*would lose it' cat "$tx/d/.log"
check_status "also where others look" 0 'Person/foo.json: no object can have this name' tail -1 "$point/.realm/errors"
check "without it" bash -c 'mv "$1/Person/foo.json" "$2" && echo x >"$1/Person/.4.json.swp"' - "$tx/d" "$scratch/foo.json"
check "or with files of editors, it commits" touch "$tx/d/.commit"
equal "what sed changed" 6 "$(jq .age "$point/Person/4.json")"
echo '{"age": 5}' >"$point/Person/4.json"
check_status "realmfs tx says so, too" 11 'Person/foo.json' \
  "$realmfs" tx "$point" -- bash -c 'rm Person/4.json; echo "{}" >Person/foo.json'
equal "and commits nothing" 5 "$(jq .age "$point/Person/4.json")"
mkdir "$tx/e" && echo '{"age": 8}' >"$tx/e/Person/4.json"
equal "what is not committed yet is among what is not saved" ".realm/tx/e" "$(grep -F .realm/tx "$point/.realm/unsaved")"
check "emptying .commit commits" bash -c ': >"$1/.commit"' - "$tx/e"
equal "and the transaction is over" "8" "$(jq .age "$point/Person/4.json")$(ls "$tx")"
for how in ': >"$1"' 'cp /dev/null "$1"' 'truncate -s 0 "$1"' 'perl -e "open(F, q(>), shift) or die; close F or die" "$1"'; do
  mkdir "$tx/e" && (echo '{"age": "x"}' >"$tx/e/Person/4.json") 2>/dev/null
  check "$how says that it is refused" bash -c '! bash -c "$1" - "$2" 2>/dev/null' - "$how" "$tx/e/.commit"
  rm -f "$tx/e/.realm/rejected/Person/"* && echo '{"age": 9}' >"$tx/e/Person/4.json"
  check "or commits" bash -c "$how" - "$tx/e/.commit"
  equal "and is over" "9" "$(jq .age "$point/Person/4.json")$(ls "$tx")"
done
echo '{"age": 5}' >"$point/Person/4.json"
mkdir "$tx/f"
equal "a transaction that changed nothing is not" "" "$(cat "$point/.realm/unsaved")"
rmdir "$tx/f"

# realmfs tx.
was=$(version)
check "tx runs a command in a transaction" "$realmfs" tx "$point" -- bash -c \
  'for i in 1 2 3; do echo "{\"name\": \"t$i\"}" >"Person/95$i.json" || exit; done; test "$PWD" = "$REALMFS_TX"'
equal "and commits once" "$((was + 1)) t2" "$(version) $(jq -r .name "$point/Person/952.json")"
check_status "a command that fails changes nothing" 3 '' "$realmfs" tx "$point" -- bash -c 'rm Person/95*.json; exit 3'
equal "its objects are there" 3 "$(ls "$point/Person" | grep -c '^95[123]\.')"
echo '{"age": "old"}' >"$scratch/wrong.json"
check_status "nor does one that is refused, and the reason is told" 1 'Person/4.json.*expected a whole number' \
  "$realmfs" tx "$point" -- cp "$scratch/wrong.json" Person/4.json
check_status "the exit code tells of a signal" 143 '' "$realmfs" tx "$point" -- bash -c 'rm Person/951.json; kill -TERM $$'
check_status "and that there is no such command" 127 'not found' "$realmfs" tx "$point" -- no-such-command
check_status "a conflict has a code of its own, and its reasons" 11 'Person/4.json' \
  "$realmfs" tx "$point" -- bash -c 'echo "{\"age\": 6}" >Person/4.json; echo "{\"age\": 7}" >../../../Person/4.json'
check_status "the reasons are sentences" 11 '^realmfs: Person/4.json: changed by another program' \
  "$realmfs" tx "$point" -- bash -c 'echo "{\"age\": 6}" >Person/4.json; echo "{\"age\": 9}" >../../../Person/4.json'
check_status "a command that fails changes nothing, and a message reports this" 1 'nothing was committed: false exited with status 1' \
  "$realmfs" tx "$point" -- false
check_status "so is one that a signal ends" 143 'nothing was committed: bash ended by signal 15' \
  "$realmfs" tx "$point" -- bash -c 'kill -TERM $$'
check_status "a command may commit by itself" 0 '^$' "$realmfs" tx "$point" -- bash -c 'echo "{\"age\": 71}" >Person/4.json; touch .commit'
equal "which counts" 71 "$(jq .age "$point/Person/4.json")"
check_status "and may fail after that" 3 'bash exited with status 3, after the transaction was committed' \
  "$realmfs" tx "$point" -- bash -c 'touch .commit; exit 3'
dropped='nothing was committed: another program dropped the transaction'
check_status "a transaction that is removed is not committed" 11 "$dropped" \
  "$realmfs" tx "$point" -- bash -c 'echo "{\"age\": 72}" >Person/4.json; rmdir "$REALMFS_TX"'
check_status "nor one that is aborted" 11 "$dropped" "$realmfs" tx "$point" -- touch .abort
check_status "nor is another one of its name" 11 "$dropped" \
  "$realmfs" tx "$point" -- bash -c 'rmdir "$REALMFS_TX"; mkdir "$REALMFS_TX"; echo "{\"age\": 73}" >"$REALMFS_TX/Person/4.json"'
check "which stays" rmdir "$tx"/tx-*
equal "nothing of all that was committed" 71 "$(jq .age "$point/Person/4.json")"
check_status "outside of a mount there is none" 9 'nothing is mounted' "$realmfs" tx "$scratch" -- true
"$realmfs" tx "$point" -- bash -c 'trap "exit 42" TERM; touch "$1"; rm Person/951.json; while :; do sleep 0.05; done' - "$scratch/up" &
command=$!
wait_until 20 test -e "$scratch/up"
kill -TERM $command
wait $command
equal "a signal goes to the command, whose exit code counts" 42 $?
equal "nothing is left" "" "$(ls "$tx")"
equal "nothing was removed" 3 "$(ls "$point/Person" | grep -c '^95[123]\.')"

# All changes or none, whenever the mount is killed.
count=${TRANSACTION_OBJECTS:-2000}
lines() { seq "$count" | sed "s/.*/{\"_id\":1000&,\"name\":\"$1 &\"}/"; }
stop_server "$point"
check_status "the file is sound" 0 sound "$realmfs" check "$file"
killed=${TRANSACTION_KILLS:-30} none=0 all=0
RANDOM=${SEED:-1}
for i in $(seq "$killed"); do
  serve "$file" "$point" >/dev/null || exit
  check "run $i begins" mkdir "$tx/k"
  lines "run$i" >"$scratch/lines"
  cp "$scratch/lines" "$tx/k/Person/.all.jsonl" || exit
  (echo 1 >"$tx/k/.commit") 2>/dev/null &
  writer=$!
  # At various times within the commit, or after it.
  sleep "0.$(printf %03d $((RANDOM % ${TRANSACTION_KILL_WITHIN:-200})))"
  crash_server
  wait $writer 2>/dev/null
  umount -l "$point" 2>/dev/null || fusermount3 -uz "$point"
  made=$("$realmfs" cat "$file" Person | grep -c "\"run$i ")
  case $made in 0) none=$((none + 1)) ;; "$count") all=$((all + 1)) ;; *) equal "all or none of run $i" "0 or $count" "$made" ;; esac
done
check_status "after $killed kills the file is sound" 0 sound "$realmfs" check "$file"
equal "each commit was made whole or not at all" "$killed" $((none + all))
# An undisturbed commit succeeds, so the kills above can fail the test.
serve "$file" "$point" || exit
mkdir "$tx/k" && lines whole >"$scratch/lines" && cp "$scratch/lines" "$tx/k/Person/.all.jsonl"
check "without a kill it is made" touch "$tx/k/.commit"
crash_server
umount -l "$point" 2>/dev/null || fusermount3 -uz "$point"
equal "whole, and on disk when it returns" "$count" "$("$realmfs" cat "$file" Person | grep -c '"whole ')"
echo "killed $killed times: $all commits were made, $none were not"
