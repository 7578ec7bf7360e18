#!/usr/bin/env bash
# `realmfs status` lists the mounts with the status that each reports, also those that do not answer; and a command that
# finds a realm in use names the mount that uses it.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
# of POINT FILTER: the entry of a mount in `status --json`.
of() { "$realmfs" status --json | jq -c --arg point "$1" ".[] | select(.mountPoint == \$point) | $2"; }
# holds_lock: true if the mount is in the session of the realm.
holds_lock() { "$realmfs" info "$file" | grep -q "^in use by  *process"; }
holds_no_lock() { ! holds_lock; }

equal "a mount point without a mount is not listed" "" "$(of "$point" .)"
serve "$file" "$point"
mkdir "$point/.realm/snapshots/before"
equal "file, mount point, process, mode and snapshots" \
  "{\"file\":\"$file\",\"mountPoint\":\"$point\",\"pid\":$server,\"mode\":\"read-write\",\"snapshots\":1}" \
  "$(of "$point" 'del(.idleSeconds)')"
equal "the time since the last use is a number" "true" "$(of "$point" '.idleSeconds >= 0')"
check_status "people read a line" 0 "^$file +$point +$server +read-write +[0-9]+ s +1$" "$realmfs" status
check_status "below titles" 0 "^FILE +MOUNT POINT +PROCESS +MODE +IDLE +SNAPSHOTS$" "$realmfs" status
equal "it is an attribute of the root" "$server" \
  "$(getfattr --only-values -n system.realmfs.status "$point" 2>/dev/null | jq .pid)"

# A command that needs exclusive access names the mount, and how to end it. The snapshot keeps the mount in the session.
holder="process $server \(realmfs mounted at $point; 'realmfs umount $point'\)"
check_status "compact names the mount" 8 "$holder; it must be closed there first" "$realmfs" compact "$file"
check_status "encrypt too" 8 "$holder" "$realmfs" encrypt --key-file "$key_file" "$file"
check_status "info too" 0 "^in use by +$holder" "$realmfs" info "$file"
rmdir "$point/.realm/snapshots/before"

# A status request does not count as use: the mount leaves the session after five idle seconds despite frequent requests.
# Other programs that access the mount only delay this.
asked_and_left() { [ "$(of "$point" .idleSeconds)" -ge 4 ] && holds_no_lock; }
check "status requests neither keep the mount at the realm nor need it" wait_until 120 asked_and_left
stop_server "$point"

serve "$file" "$point" --read-only
equal "a read-only mount" '"read-only"' "$(of "$point" .mode)"
stop_server "$point"
serve "$file" "$point" --immutable
equal "an immutable mount, which takes no part in the realm" '"immutable" null' "$(of "$point" '.mode, .idleSeconds' | paste -sd' ')"

# A mount that does not answer is listed, too, and can be ended.
kill -STOP "$server"
check_status "a server that is stopped" 0 "^$file +$point +does not answer$" timeout 20 "$realmfs" status
equal "in JSON" '"does not answer"' "$(of "$point" .problem)"
kill -CONT "$server"
stop_server "$point"
serve "$file" "$point"
kill -STOP "$server"
check_status "umount says that it cannot see its end" 0 "does not answer and may still have data to write to disk" \
  timeout 20 "$realmfs" umount "$point"
kill -CONT "$server"
wait "$server"
serve "$file" "$point"
crash_server
check_status "a server that is gone" 0 "^$file +$point +its process has ended: 'realmfs umount $point'$" "$realmfs" status
check "which works" "$realmfs" umount "$point"
equal "after that it is not listed" "" "$(of "$point" .)"

spaces=$(new_directory "a b")
check "a mount point with a space" "$realmfs" mount "$file" "$spaces"
equal "is listed as it is" '"read-write"' "$(of "$spaces" .mode)"
check "umount" "$realmfs" umount "$spaces"

# A mount that exists only in another mount namespace.
if unshare -m true 2>/dev/null; then
  unshare -m sh -c '"$1" mount "$2" "$3" && touch "$4" && while [ -e "$4" ]; do sleep 0.1; done' \
    - "$realmfs" "$file" "$point" "$scratch/namespace" 2>/dev/null &
  shell=$!
  check "a mount in a namespace of its own" wait_until 20 test -e "$scratch/namespace"
  check "is not one here" is_not_mounted "$point"
  check_status "status says where it is" 0 \
    "^$file +$point \(in another mount namespace; 'nsenter -t [0-9]+ -m' enters it\) +[0-9]+ +read-write" "$realmfs" status
  inside=$(of "$point" '.seenBy[0]')
  check "that leads to it" nsenter -t "$inside" -m test -d "$point/.realm"
  rm "$scratch/namespace"
  wait "$shell"
  is_abandoned() { "$realmfs" status | grep -q "^$file  *$point (no other process sees it; 'kill [0-9]*' ends it)"; }
  check "once the server is alone there, status says how to end it" wait_until 20 is_abandoned
  left=$(of "$point" .pid)
  kill "$left"
  check "which works" wait_until 20 is_dead "$left"
  equal "and it is not listed" "" "$(of "$point" .)"
else
  skip "no mount namespaces"
fi

# A server in another PID namespace has a different number there.
if unshare -m -p -f --mount-proc true 2>/dev/null; then
  unshare -m -p -f --mount-proc sh -c \
    '"$1" mount "$2" "$3" && touch "$4" && while [ -e "$4" ]; do sleep 0.1; done' \
    - "$realmfs" "$file" "$point" "$scratch/namespace" 2>/dev/null &
  shell=$!
  check "a mount in a PID namespace of its own" wait_until 20 test -e "$scratch/namespace"
  outer=$(of "$point" .pid)
  equal "status has the number that the server has here" "realmfs 2" \
    "$(cat "/proc/$outer/comm") $(awk '/^NSpid:/ {print NF - 1}' "/proc/$outer/status")"
  rm "$scratch/namespace"
  wait "$shell"
else
  skip "no PID namespaces"
fi

# A realm that one program has open exclusively: the engine's refusal, with the process.
: >"$file.lock"
exec 5>>"$file.lock"
flock 5
check_status "another program has the realm for itself: it is named" 8 "in use by process [0-9]+" \
  "$realmfs" set "$file" Person/4 age=1
check_status "and by mount" 8 "in use by process [0-9]+" "$realmfs" mount "$file" "$point"
exec 5>&-
check_status "one argument too many" 2 "unexpected argument 'x'" "$realmfs" status x
