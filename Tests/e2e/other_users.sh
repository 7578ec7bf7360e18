#!/usr/bin/env bash
# Other users write through a mount of root: only they can read their refused texts.
source "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || { skip "needs root to be several users"; exit; }
command -v setpriv >/dev/null || { skip "setpriv is absent: no other user to test with"; exit; }
as() { local id=$1 && shift && setpriv --reuid="$id" --regid="$id" --clear-groups "$@"; }

chmod 755 "$scratch"
file=$(copy_fixture people)
chmod 666 "$file"
point=$(new_directory mnt)
serve "$file" "$point" -o allow_other || exit
person=$point/Person kept=$point/.realm/rejected/Person@65534 others=$point/.realm/rejected/Person@65533

check_status "a refused text of another user" 1 'write error' as 65534 bash -c 'echo "{\"age\": \"x\"}" >"$1/4.json"' - "$person"
equal "is that user's" "65534 65534 600" "$(stat -c '%u %g %a' "$kept/4.json")"
equal "who can read it" '{"age": "x"}' "$(as 65534 cat "$kept/4.json" 2>&1)"
equal "and finds it" "4.json" "$(as 65534 ls "$kept" 2>&1)"
check "and the reason" as 65534 grep -q 'found the string' "$point/.realm/errors"
equal "whose size is right" "$(as 65534 wc -c <"$point/.realm/errors")" "$(as 65534 stat -c %s "$point/.realm/errors")"
check "also in the attribute" bash -c 'as() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
  as getfattr --only-values -n user.realmfs.error "$1" 2>/dev/null | grep -q "found the string"' - "$person/4.json"
check_status "a third user cannot read it" 1 'Permission denied' as 65533 cat "$kept/4.json"
check_status "nor remove it" 1 'Permission denied' as 65533 rm -f "$kept/4.json"
equal "nor read in the reason what it says" "0 0" \
  "$(as 65533 grep -c 'found the string' "$point/.realm/errors") $(as 65533 getfattr --only-values -n user.realmfs.error "$person/4.json" 2>/dev/null | grep -c 'found the string')"
check "but where it was" as 65533 grep -q 'line 1, column 9: the text was refused' "$point/.realm/errors"
equal "in the size that is right for it" "$(as 65533 wc -c <"$point/.realm/errors")" "$(as 65533 stat -c %s "$point/.realm/errors")"
check_status "a text of the third user" 1 'write error' as 65533 bash -c 'echo "{\"age\": \"y\"}" >"$1/4.json"' - "$person"
equal "does not replace it" '{"age": "x"}' "$(cat "$kept/4.json")"
check "nor does what that user saves" as 65533 bash -c 'echo "{\"age\": 44}" >"$1/4.json"' - "$person"
equal "remove it" '{"age": "x"}' "$(cat "$kept/4.json")"
check "whose it is can" as 65534 rm "$kept/4.json"

printf '{' >"$scratch/part"
check_status "refused at close" 1 'Invalid argument' as 65534 cp "$scratch/part" "$person/4.json"
equal "it is that user's too" "65534 65534 600" "$(stat -c '%u %g %a' "$kept/4.json")"
as 65534 bash -c 'echo "{\"age\": []}" >"$1/scratch"' - "$person"
as 65534 bash -c 'umask 077; echo "{\"age\": []}" >"$1/private"' - "$person"
check_status "refused at rename" 1 'cannot move .*: Bad message' as 65534 mv -f "$person/scratch" "$person/18.json"
equal "likewise" "65534 65534 600" "$(stat -c '%u %g %a' "$kept/18.json")"
check_status "a third user does not rename it" 1 'Permission denied' as 65533 mv -f "$person/private" "$person/18.json"
check_status "nor remove it" 1 'Permission denied' as 65533 rm -f "$person/private"
check "who made it can" as 65534 rm "$person/private"
check_status "refused at fsync" 1 'Invalid argument' \
  as 65533 bash -c 'printf "{" | dd of="$1/25.json" conv=fsync status=none' - "$person"
equal "it is that user's as well" "65533 65533 600" "$(stat -c '%u %g %a' "$others/25.json")"
check_status "refused at truncate" 1 'failed to truncate|Invalid argument' as 65533 truncate -s 5 "$person/39.json"
equal "likewise" "65533 65533 600" "$(stat -c '%u %g %a' "$others/39.json")"
check "who is refused can save it again" as 65533 bash -c 'sed "s/.*/{}/" "$1/25.json" >"$2/25.json"' - "$others" "$person"

# A transaction belongs to the user who started it.
tx=$point/.realm/tx
check "another user begins a transaction" as 65534 mkdir "$tx/t"
check_status "which a third one cannot remove" 1 'not permitted' as 65533 rmdir "$tx/t"
check_status "nor commit" 1 'not permitted|Permission denied' as 65533 touch "$tx/t/.commit"
check_status "nor abort" 1 'Permission denied' as 65533 bash -c 'echo 1 >"$1"' - "$tx/t/.abort"
check "who began it can" as 65534 rmdir "$tx/t"
check "realmfs tx works for other users" as 65534 "$realmfs" tx "$point" -- bash -c 'echo "{\"age\": 61}" >Person/4.json'
equal "and commits" 61 "$(jq .age "$person/4.json")"
as 65534 mkdir -m 700 "$tx/private"
check_status "one that is private is hidden from third users" 2 'Permission denied' as 65533 ls "$tx/private"
as 65534 rmdir "$tx/private"
check "who can enter can ask for the status" as 65534 getfattr --only-values -n system.realmfs.status "$point"
stop_server "$point"
serve "$file" "$point"
check_status "who cannot enter cannot" 1 'Permission denied' as 65534 getfattr --only-values -n system.realmfs.status "$point"
check "root can" getfattr --only-values -n system.realmfs.status "$point"
stop_server "$point"

# The first access to a fresh mount, while another program commits.
(while "$realmfs" set "$file" Person/4 age=$RANDOM >/dev/null 2>&1; do :; done) &
background+=($!) committer=$!
refused=0
for _ in {1..20}; do
  "$realmfs" mount "$file" "$point" -o allow_other || break
  as 65534 ls "$person" >/dev/null 2>&1 || refused=$((refused + 1))
  "$realmfs" umount "$point"
done
{ kill "$committer" && wait "$committer"; } 2>/dev/null
equal "the first access to a fresh mount is never refused beside commits" 0 "$refused"

# A realm that only its owner can read.
chmod 600 "$file"
if serve "$file" "$point" -o allow_other; then
  check_status "others do not get in there" 1 'Permission denied' \
    as 65534 bash -c 'echo "{\"age\": \"x\"}" >"$1/4.json"' - "$person"
  check_status "nor to what is refused" 2 'Permission denied' as 65534 ls "$point/.realm/rejected"
  stop_server "$point"
fi
check "the realm is sound" "$realmfs" check "$file"

# A user who can read a realm and create files in its folder cannot replace it.
chmod 644 "$file" && chmod 777 "$(dirname "$file")"
rm -rf "$file".*
check_status "compact is for who may write to the realm" 3 'Permission denied.*not write to it' as 65534 "$realmfs" compact "$file"
equal "it is as it was" "0 644" "$(stat -c '%u %a' "$file")"
chown 65534:65534 "$file" && chmod 444 "$file"
check_status "also where its owner protected it" 3 'Permission denied' as 65534 "$realmfs" compact "$file"
chmod 644 "$file"
check "and its owner may" as 65534 "$realmfs" compact "$file"
equal "to whom it still belongs" "65534 644" "$(stat -c '%u %a' "$file")"
