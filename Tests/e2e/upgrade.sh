#!/usr/bin/env bash
# An upgrade makes a file of an older format writable, keeps a backup, and changes nothing if it fails.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
expected=$("$realmfs" cat "$file" Person | sha256sum)
printf '\x17\x17' | dd of="$file" bs=1 seek=20 conv=notrunc status=none
old=$(sha256sum <"$file")
backup=$scratch/people.v23.backup.realm
mkdir "$scratch/held"
check_status "it has format 23" 0 'format +23' "$realmfs" info "$file"
check_status "a backup folder that is missing" 3 'No such file' "$realmfs" upgrade --backup-dir "$scratch/absent" "$file"
equal "that changed nothing" "$old" "$(sha256sum <"$file")"
check_status "upgrade" 0 'upgraded from format 23 to 24; the old file is .*people.v23.backup.realm' "$realmfs" upgrade "$file"
check_status "it has format 24" 0 'format +24' "$realmfs" info "$file"
equal "the objects are the same" "$expected" "$("$realmfs" cat "$file" Person | sha256sum)"
equal "the backup is the old file" "$old" "$(sha256sum <"$backup")"
check "it is sound" "$realmfs" check "$file"
check_status "a second upgrade has nothing to do" 0 'nothing to do' "$realmfs" upgrade "$file"
check_status "--json" 0 '"formatBefore":24|"formatBefore": 24' "$realmfs" upgrade --json "$file"
point=$(new_directory mnt)
"$realmfs" mount -o create_classes "$file" "$point" && check "it can be written now" mkdir "$point/NewClass"
"$realmfs" umount "$point"

file=$(copy_fixture people)
printf '\x17\x17' | dd of="$file" bs=1 seek=20 conv=notrunc status=none
rm -f "$backup"
check_status "mount --upgrade --read-only" 2 'changes the realm' "$realmfs" mount --upgrade --read-only "$file" "$point"
check_status "mount --upgrade" 0 'upgraded from format 23 to 24' "$realmfs" mount -o create_classes --upgrade "$file" "$point"
check "it can be written at once" mkdir "$point/NewClass"
check "the backup is there" test -s "$backup"
"$realmfs" umount "$point"

found=0
for old_file in "$shared"/fixtures/sdk/v[2-9]-*.realm "$shared"/fixtures/sdk/v[12][0-9]*.realm; do
  [ -f "$old_file" ] || continue
  name=$(basename "$old_file" .realm)
  case $name in v24* | v23-dotnet-sync-guids) continue ;; esac
  found=1
  cp "$old_file" "$scratch/$name.realm" && chmod 644 "$scratch/$name.realm"
  check "upgrade of $name" "$realmfs" upgrade "$scratch/$name.realm"
  check "$name is sound" "$realmfs" check "$scratch/$name.realm"
done
[ $found = 1 ] || skip "no files of Realm's SDKs at ../shared/fixtures/sdk"

# A mount of an older format is read-only, and prints the remedy.
point=$(new_directory hint)
cp "$fixtures/old/v9-core-5.23.9.realm" "$scratch/hint.realm"
check_status "a read-only mount names upgrade" 0 "only format 24 is written; 'realmfs upgrade'" \
  "$realmfs" mount "$scratch/hint.realm" "$point"
"$realmfs" umount "$point"
cp "$fixtures/synced.realm" "$scratch/hint.realm"
check_status "and one of a synced realm convert" 0 "'realmfs convert --local'" "$realmfs" mount "$scratch/hint.realm" "$point"
"$realmfs" umount "$point"
