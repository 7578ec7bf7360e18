#!/usr/bin/env bash
# `realmfs exec`: a command in a separate mount, of which nothing is left afterwards, whatever is killed.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
export XDG_RUNTIME_DIR=$scratch/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
nothing_left() { [ -z "$(ls -A "$XDG_RUNTIME_DIR")" ] && ! grep -q "$XDG_RUNTIME_DIR" /proc/self/mounts; }
check_left() { check "$1: nothing is left" wait_until 10 nothing_left; }

equal "the command runs in the mount" "Dog Person" "$("$realmfs" exec "$file" -- ls | grep -E 'Dog|Person' | xargs)"
equal "the mount is a directory of this user only" "700 0" \
  "$("$realmfs" exec "$file" -- sh -c 'stat -c %a "$(dirname "$REALMFS_MOUNT")"; test "$PWD" = "$REALMFS_MOUNT"; echo $?' | xargs)"
check "it saves" "$realmfs" exec "$file" -- sh -c 'echo "{\"age\": 77}" >Person/4.json'
equal "what it saved" 77 "$("$realmfs" cat "$file" Person/4.json | jq .age)"
check_left "after a command"
check_status "the status is that of the command" 3 '^$' "$realmfs" exec "$file" -- sh -c 'exit 3'
check_status "or 128 plus the signal" 143 '^$' "$realmfs" exec "$file" -- sh -c 'kill -TERM $$'
check_status "or that it was not found" 127 'no-such-command: not found' "$realmfs" exec "$file" -- no-such-command
check_status "or cannot be run" 126 'Permission denied' "$realmfs" exec "$file" -- /etc/passwd
check_status "CMD is required" 2 'CMD is missing' "$realmfs" exec "$file"
check_status "a file that is missing is reported" 3 'No such file' "$realmfs" exec "$scratch/none.realm" -- true
echo hello >"$scratch/text"
check_status "so is one that is not a realm" 4 'not a Realm file' "$realmfs" exec "$scratch/text" -- true
check_status "and a wrong option" 2 'unknown mount option' "$realmfs" exec -o foo "$file" -- true
check_left "after failures"
check_status "with -o ro nothing is saved" 1 'Read-only' "$realmfs" exec -o ro "$file" -- sh -c 'rm Person/4.json'
equal "standard input is that of the command" hello "$(echo hello | "$realmfs" exec "$file" -- cat)"
equal "after a key from standard input, the command reads the rest" "Person" \
  "$("$realmfs" exec --key-file - "$fixtures/people-encrypted.realm" -- ls <"$key_file" | grep -x Person)"
# shellcheck disable=SC2016
equal "the command does not inherit a key from the environment or a descriptor" "unset closed" \
  "$(KEY=$(cat "$key_file") "$realmfs" exec --key-env KEY "$fixtures/people-encrypted.realm" -- sh -c 'echo "${KEY-unset}"') $("$realmfs" exec --key-fd 5 "$fixtures/people-encrypted.realm" -- sh -c '(: <&5) 2>/dev/null || echo closed' 5<"$key_file")"

# Transactions.
check "--tx commits" "$realmfs" exec --tx "$file" -- sh -c 'for i in 1 2 3; do echo "{\"name\": \"t$i\"}" >Person/95$i.json || exit; done'
equal "all of it" 3 "$("$realmfs" query --count "$file" Person 'name BEGINSWITH "t"')"
check_status "a commit prints nothing" 0 '^$' "$realmfs" exec --tx "$file" -- sh -c 'echo "{\"age\": 44}" >Person/4.json'
check_status "a command that fails changes nothing" 5 "$file: nothing was committed: sh exited with status 5" \
  "$realmfs" exec --tx "$file" -- sh -c 'rm Person/95*.json; exit 5'
check_status "a refused commit has a separate exit code" 11 'Person/foo.json' \
  "$realmfs" exec --tx "$file" -- sh -c 'rm Person/951.json; echo "{}" >Person/foo.json'
equal "and commits nothing" 3 "$("$realmfs" query --count "$file" Person 'name BEGINSWITH "t"')"
check_status "--tx needs a mount that can be changed" 2 'exclude' "$realmfs" exec --tx --read-only "$file" -- true
check_left "after transactions"

# Files in memory.
check_status "what was not saved is listed" 9 'Person/foo.json is in memory only' \
  "$realmfs" exec "$file" -- sh -c 'echo "{}" >Person/foo.json'
check_status "and kept" 0 'foo.json' find "$XDG_STATE_HOME/realmfs/unsaved" -name foo.json
check_status "a command that fails keeps its status" 4 'Person/foo.json is in memory only' \
  "$realmfs" exec "$file" -- sh -c 'echo "{}" >Person/foo.json; exit 4'

# Processes that outlive the command.
check_status "a remaining process does not keep the mount alive" 0 'background process of the command still uses the mount' \
  "$realmfs" exec "$file" -- sh -c 'sleep 30 >/dev/null 2>&1 & echo $! >"$0"' "$scratch/sleeper"
check_left "with a remaining process"
kill "$(cat "$scratch/sleeper")"
check "the command may unmount" "$realmfs" exec "$file" -- sh -c 'cd / && "$0" umount --lazy "$REALMFS_MOUNT"' "$realmfs"
check_left "after that"

# start WORD...: begins an exec whose command waits; its id is in $runner, that of the command in $command.
start() {
  rm -f "$scratch/up"
  env --default-signal=INT "$realmfs" exec "$@" "$file" -- bash -c \
    'trap "exit 42" TERM; echo $$ >"$0.new"; mv "$0.new" "$0"; while ls >/dev/null 2>&1; do sleep 0.05; done; exit 17' \
    "$scratch/up" 2>"$scratch/message" &
  runner=$!
  background+=("$runner")
  wait_until 20 test -e "$scratch/up"
  command=$(cat "$scratch/up")
}
for options in "" --tx; do
  # shellcheck disable=SC2086
  start $options
  kill -TERM "$runner"
  wait "$runner"
  equal "SIGTERM goes to the command ($options)" 42 $?
  check_left "after SIGTERM ($options)"

  # shellcheck disable=SC2086
  start $options
  { kill -KILL "$runner" && wait "$runner"; } 2>/dev/null
  check_left "after SIGKILL of realmfs exec ($options)"
  check "the command continues without the mount ($options)" wait_until 10 is_dead "$command"

  # shellcheck disable=SC2086
  start $options
  kill -KILL "$(pgrep -P "$runner" -x realmfs)"
  wait "$runner"
  equal "after SIGKILL of the server, the command's status counts ($options)" 17 $?
  check_status "and the end is reported ($options)" 0 'ended by signal 9|the mount ended first' cat "$scratch/message"
  check_left "after SIGKILL of the server ($options)"
done
for round in $(seq 20); do
  env --default-signal=INT "$realmfs" exec "$file" -- true 2>/dev/null &
  runner=$!
  sleep "0.$(printf %02d $((round * 2)))"
  kill -"$([ $((round % 2)) -eq 0 ] && echo KILL || echo INT)" "$runner" 2>/dev/null
  wait "$runner" 2>/dev/null
done
check_left "after kills at any time"
check "the file is valid" "$realmfs" check "$file"
