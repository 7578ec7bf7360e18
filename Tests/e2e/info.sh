#!/usr/bin/env bash
# `realmfs info` on files that cannot be opened: their kind, the remaining versions, the remedy, and the exit code.
source "$(dirname "$0")/lib.sh"
cd "$scratch" || exit

# explains WHAT STATUS PATTERN FILE [OPTION]...: one line of the explanation matches, and JSON contains the same.
explains() {
  local what=$1 status=$2 pattern=$3 file=$4
  shift 4
  check_status "$what" "$status" "$pattern" "$realmfs" info "$@" "$file"
  equal "$what, in JSON" "$status true" \
    "$("$realmfs" info --json "$@" "$file" 2>/dev/null | jq -r '"\(.exitCode) \(.looksLike | length > 0)"')"
}

people=$(copy_fixture people)
explains "a missing file" 3 '^looks like +no such file' absent.realm
explains "a directory" 3 '^looks like +a directory' "$scratch"
: >zero.realm
explains "an empty file" 4 '^looks like +an empty file' zero.realm
printf 'just a text, long enough for a header' >text.realm
explains "a text" 4 '^looks like +a text file' text.realm
head -c 8192 /dev/zero >zeros.realm
explains "a file of zeros" 4 '^looks like +a file that begins with zeros' zeros.realm
printf 'SQLite format 3\0 and more of the database' >sqlite.realm
explains "another database" 4 '^looks like +a SQLite database' sqlite.realm
gzip -c "$people" >packed.realm
explains "an archive" 4 '^looks like +a gzip archive: unpack it first' packed.realm
head -c 5000 "$people" >cut.realm
explains "a file that is cut short: the root that is gone" 4 '^root +at 5472, from slot 0' cut.realm
explains "and the version that is left" 4 "^version 4 +root at .* other slot.* ends before 8192: Dog, Person" cut.realm
explains "and what to do" 4 "^advice +'realmfs recover'" cut.realm
head -c 100 "$people" >stump.realm
explains "a file of which nothing is left" 4 '^advice +use a backup' stump.realm
cp "$people" header.realm
printf '\xff\xff\xff\xff' | dd of=header.realm bs=1 seek=0 conv=notrunc status=none
explains "a damaged header" 4 '^version [0-9]+ +root at 5472, via a search' header.realm
cp "$people" old.realm
printf '\x01' | dd of=old.realm bs=1 seek=20 conv=notrunc status=none
explains "a format that is too old" 7 '^format +1$' old.realm
printf '\x63' | dd of=old.realm bs=1 seek=20 conv=notrunc status=none
explains "a format that is too new" 7 '^advice +look for a newer realmfs' old.realm
explains "an encrypted file without its key" 5 '^looks like +an encrypted realm' "$fixtures/people-encrypted.realm"
explains "and what to do" 5 '^advice +give the key' "$fixtures/people-encrypted.realm"
head -c 64 /dev/urandom >wrong.key
explains "an encrypted file with another key" 6 '^looks like +an encrypted realm' "$fixtures/people-encrypted.realm" \
  --key-file wrong.key
explains "a plain file with a key" 6 '^looks like +a Realm file' "$people" --key-file wrong.key
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  chmod 711 "$scratch" && chmod 600 "$people" && chmod 755 "$fixtures"
  check_status "a file that may not be read" 3 '^looks like +a file that you cannot read' \
    setpriv --reuid=65534 --regid=65534 --clear-groups "$realmfs" info "$people"
  chmod 644 "$people"
fi

# The programs that have a file open are listed for any file, valid or not.
point=$(new_directory mnt)
cp "$people" held.realm
if serve "$scratch/held.realm" "$point"; then
  check_status "who has it open" 0 "^in use by +process $server" "$realmfs" info held.realm
  printf '\x63\x63' | dd of=held.realm bs=1 seek=20 conv=notrunc status=none
  check_status "also if it does not open any more" 7 "^in use by +process $server" "$realmfs" info held.realm
  stop_server "$point"
fi

check_status "--long has the size and the properties of each class" 0 'Person .*19 objects, primary key _id, [0-9]+ bytes' \
  "$realmfs" info --long "$fixtures/people.realm"
check_status "with types and indexes" 0 '^    name +string, indexed$' "$realmfs" info --long "$fixtures/people.realm"
equal "as JSON too" '{"name":"name","type":"string","index":"general"}' \
  "$("$realmfs" info --long --json "$fixtures/people.realm" | jq -c '.classes[] | select(.name == "Person").properties[] | select(.name == "name")')"
equal "without it no more than before" "null" "$("$realmfs" info --json "$fixtures/people.realm" | jq '.classes[0].properties')"

# Several files.
printf 'text' >text.realm
cp "$fixtures/people.realm" people.realm && cp "$fixtures/empty.realm" none.realm
equal "several files, one line each" 'people.realm: format 24, version 2, 2 classes, 24 objects
none.realm: format 24, version 2, 0 classes, 0 objects' \
  "$("$realmfs" info people.realm none.realm | sed -E 's/version [0-9]+/version 2/; s/ [0-9]+ bytes,//')"
equal "an array in JSON" '["people.realm","none.realm"]' "$("$realmfs" info --json people.realm none.realm | jq -c 'map(.file)')"
"$realmfs" info people.realm text.realm none.realm >lines 2>errors
equal "a file that cannot be read does not end the command" "4 2 1" "$? $(wc -l <lines) $(grep -c text.realm errors)"
equal "nor the array" '[null,4,null]' "$("$realmfs" info --json people.realm text.realm none.realm | jq -c 'map(.exitCode)')"
check_status "check of several files" 0 '^none.realm: sound' "$realmfs" check people.realm none.realm
equal "as an array" '[true,true]' "$("$realmfs" check --json people.realm none.realm | jq -c 'map(.sound)')"
check_status "check goes on, and ends with the code of the first failure" 4 '^none.realm: sound' "$realmfs" check text.realm none.realm
check_status "--seal is for one file" 2 'checks one file' "$realmfs" check --seal people.realm none.realm
