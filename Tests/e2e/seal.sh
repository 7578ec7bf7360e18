#!/usr/bin/env bash
# `realmfs seal` and `check --seal` detect every changed byte of a sealed file, also where the format cannot.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
check_status "a file without a seal" 1 'no seal' "$realmfs" check --seal "$file"
check "a sound file is sealed" "$realmfs" seal "$file"
equal "beside it" "1" "$(ls "$file.seal" | wc -l)"
check_status "it is as it was" 0 'matches its seal: 8192 bytes' "$realmfs" check --seal "$file"
equal "as JSON" 'true 8192 []' "$("$realmfs" check --seal --json "$file" | jq -c '"\(.intact) \(.size) \(.differences)"' -r)"

# A changed letter of a name, which is a valid name.
cp "$file" "$scratch/sound.realm"
at=$(grep -abo 'Ada' "$file" | head -1 | cut -d: -f1)
if [ -z "$at" ]; then at=$(grep -abo 'Person' "$file" | head -1 | cut -d: -f1); fi
printf 'Q' | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
check_status "a changed letter" 4 'bytes 0 to 8191 differ' "$realmfs" check --seal "$file"
cp "$scratch/sound.realm" "$file"
truncate -s 4096 "$file"
check_status "a file that was cut" 4 'differ from' "$realmfs" check --seal "$file"
cp "$scratch/sound.realm" "$file"
"$realmfs" set "$file" Person/4 age=99 >/dev/null
check_status "a commit breaks it too" 4 'changed since' "$realmfs" check --seal "$file"
check "it can be sealed anew" "$realmfs" seal "$file"
check "and is as it was then" "$realmfs" check --seal "$file"
sed -i '4s/./0/' "$file.seal"
sed -i '4s/^0/1/' "$file.seal"
check_status "a damaged seal" 4 'incomplete or was altered' "$realmfs" check --seal "$file"

big=$(copy_fixture items-10k)
"$realmfs" seal "$big" >/dev/null
printf 'x' | dd of="$big" bs=1 seek=200000 conv=notrunc status=none
check_status "the place is named" 4 'bytes 196608 to 262143 differ' "$realmfs" check --seal "$big"
secret=$(copy_fixture people-encrypted)
check "an encrypted file is sealed with its key" "$realmfs" seal --key-file "$key_file" "$secret"
check "and compared without" "$realmfs" check --seal "$secret"
bad=$scratch/fixtures/damaged/shared-nodes-20.realm
check_status "damage is not sealed" 4 'not sealed|damaged' "$realmfs" seal "$bad"
equal "and no seal is made" "" "$(ls "$bad.seal" 2>/dev/null)"

# A backup does not change by a byte until the first commit to it.
backup=$scratch/backup.realm point=$(new_directory mnt)
"$realmfs" backup "$(copy_fixture people)" "$backup" >/dev/null && "$realmfs" seal "$backup" >/dev/null
echo '[{"_id": 4, "age": 5}, {"_id": 4, "age": "x"}]' >"$scratch/half.json"
unchanged() { check "$1 leaves a backup as it was" "$realmfs" check --seal "$backup"; }
"$realmfs" set --dry-run "$backup" Person/4 age=5 >/dev/null 2>&1
unchanged "set --dry-run"
"$realmfs" set "$backup" Person/4 "age=$("$realmfs" cat "$backup" Person/4.json | jq .age)" >/dev/null 2>&1
unchanged "setting what is there"
check_status "a value that is refused" 1 'expected a whole number' "$realmfs" set "$backup" Person/4 age=x
unchanged "it"
check_status "an import that is refused" 1 'expected a whole number' "$realmfs" import --class Person "$backup" "$scratch/half.json"
unchanged "it"
"$realmfs" delete --dry-run "$backup" Person/4 >/dev/null 2>&1
unchanged "delete --dry-run"
serve "$backup" "$point" || exit
cp "$point/Person/4.json" "$scratch/4.json" && cp "$scratch/4.json" "$point/Person/4.json"
(echo '{"age": "x"}' >"$point/Person/4.json") 2>/dev/null
unchanged "a mount, with saves that are refused or change nothing,"
echo '{"age": 5}' >"$point/Person/4.json"
check "a save is made" grep -q '"age": 5' "$point/Person/4.json"
stop_server "$point"
check_status "and breaks the seal" 4 'changed since' "$realmfs" check --seal "$backup"
check "the backup is sound" "$realmfs" check "$backup"
if [ -f "$shared/tools/realmcheck.py" ]; then
  check "and so it is for another checker" python3 "$shared/tools/realmcheck.py" verify "$backup"
fi
