#!/usr/bin/env bash
# The commands that create a new file from an old one: backup, compact, encrypt, decrypt, rekey, convert. The new files
# contain the same objects; files that are rejected stay unchanged.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture items-10k)
people=$(copy_fixture people)
synced=$(copy_fixture synced)
head -c 64 /dev/urandom >"$scratch/key1"
head -c 64 /dev/urandom >"$scratch/key2"
first_class() { "$realmfs" info --json "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)["classes"][0]["name"])'; }
class=$(first_class "$file")
objects() { "$realmfs" cat "$@" "$class" | sha256sum; }
expected=$(objects "$file")

check "backup" "$realmfs" backup "$file" "$scratch/backup.realm"
equal "the backup holds the same" "$expected" "$(objects "$scratch/backup.realm")"
check "the backup is sound" "$realmfs" check "$scratch/backup.realm"
check_status "backup replaces no file" 1 'exists' "$realmfs" backup "$file" "$scratch/backup.realm"
check_status "backup of a missing file" 3 'No such file' "$realmfs" backup "$scratch/absent" "$scratch/b"
check_status "backup into a missing folder" 3 'No such file' "$realmfs" backup "$file" "$scratch/absent/b"

before=$(stat -c %s "$file")
chmod 640 "$file"
check_status "compact" 0 'bytes, was' "$realmfs" compact "$file"
equal "compact keeps the objects" "$expected" "$(objects "$file")"
equal "compact keeps the mode" 640 "$(stat -c %a "$file")"
if [ "$(stat -c %s "$file")" -lt "$before" ]; then ok "compact makes it smaller"; else not_ok "compact makes it smaller"; fi
check "a compacted file is sound" "$realmfs" check "$file"
check_status "compact --if, when it is not worth it" 0 'not compacted' "$realmfs" compact --if 'used < 10%' "$file"
check_status "compact --if, when it is" 0 'bytes, was' "$realmfs" compact --if 'total > 1KB and used > 50%' "$file"
point=$(new_directory launch)
check_status "mount --compact-on-launch" 0 'compacted from' \
  "$realmfs" mount -o create_classes --compact-on-launch 'total > 1KB' "$file" "$point"
second=$(new_directory second)
check "the mount saves, so it has the realm open" mkdir "$point/Another"
check_status "beside another mount it is skipped, and said so" 0 'was not compacted: .* in use by' \
  "$realmfs" mount --compact-on-launch 'total > 1KB' "$file" "$second"
check "both show the data" test -d "$second/Another" -a -d "$point/Another"
check "and save" rmdir "$second/Another"
check "umount" "$realmfs" umount "$second"
check "umount" "$realmfs" umount "$point"
check_status "mount --compact-on-launch with a mistake" 2 'column 7' \
  "$realmfs" mount --compact-on-launch 'total 5' "$file" "$point"
check_status "compact --if with a mistake" 2 'column 7' "$realmfs" compact --if 'total 5' "$file"
ln -s "$file" "$scratch/link.realm"
check "compact through a symbolic link" "$realmfs" compact "$scratch/link.realm"
check "the link stays a link" test -L "$scratch/link.realm"

check "encrypt" "$realmfs" encrypt --key-file "$scratch/key1" "$file"
equal "the encrypted file holds the same" "$expected" "$(objects --key-file "$scratch/key1" "$file")"
check_status "it needs the key now" 5 'key' "$realmfs" info "$file"
check "rekey" "$realmfs" rekey --key-file "$scratch/key1" --new-key-file "$scratch/key2" "$file"
check_status "the old key is wrong now" 6 'wrong' "$realmfs" info --key-file "$scratch/key1" "$file"
equal "it holds the same" "$expected" "$(objects --key-file "$scratch/key2" "$file")"
check "compact an encrypted file" "$realmfs" compact --key-file "$scratch/key2" "$file"
check "decrypt to another file" "$realmfs" decrypt --key-file "$scratch/key2" "$file" "$scratch/plain.realm"
equal "the plain file holds the same" "$expected" "$(objects "$scratch/plain.realm")"
equal "the encrypted one is still there" "$expected" "$(objects --key-file "$scratch/key2" "$file")"
check "decrypt" "$realmfs" decrypt --key-file "$scratch/key2" "$file"
equal "the decrypted file holds the same" "$expected" "$(objects "$file")"
check_status "encrypt without a key" 5 'key-file' "$realmfs" encrypt "$file"
check_status "rekey without a new key" 5 'new-key-file' "$realmfs" rekey --key-file "$scratch/key1" "$file"
check_status "decrypt a plain file" 6 'is not encrypted$' "$realmfs" decrypt --key-file "$scratch/key1" "$file"
check_status "encrypt an encrypted file" 1 'already encrypted' "$realmfs" encrypt --key-file "$key_file" "$fixtures/people-encrypted.realm"

damaged=$scratch/damaged.realm
python3 - "$fixtures/people.realm" "$damaged" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
# A class name that is not UTF-8: every reader accepts it, a check reports it.
data[data.index(b"class_")] ^= 0x80
open(sys.argv[2], "wb").write(data)
END
sum=$(sha256sum <"$damaged")
for words in compact "encrypt --key-file $scratch/key1"; do
  # shellcheck disable=SC2086
  check_status "$words of a damaged realm" 4 'the realm is damaged, so nothing was changed: .*recover' \
    "$realmfs" $words "$damaged"
done
equal "it stays as it was" "$sum" "$(sha256sum <"$damaged")"
check "a damaged realm is backed up" "$realmfs" backup "$damaged" "$scratch/damaged-copy.realm"
check "compact --no-verify" "$realmfs" compact --no-verify "$damaged"
check_status "it is damaged as before" 4 'problem' "$realmfs" check "$damaged"
"$realmfs" recover "$damaged" "$scratch/recovered.realm" >/dev/null
check "what was recovered is sound" "$realmfs" check "$scratch/recovered.realm"
check "and compacted" "$realmfs" compact "$scratch/recovered.realm"

sum=$(sha256sum <"$synced")
check_status "convert --local" 0 'wrote .*bytes' "$realmfs" convert --local "$synced" "$scratch/local.realm"
equal "the synced file stays" "$sum" "$(sha256sum <"$synced")"
check "the local one is sound" "$realmfs" check "$scratch/local.realm"
point=$(new_directory mnt)
if "$realmfs" mount -o create_classes "$scratch/local.realm" "$point"; then
  check "the local one can be changed" mkdir "$point/NewClass"
  check_status "a mounted realm is not compacted" 8 'in use by' "$realmfs" compact "$scratch/local.realm"
  check "a mounted realm is backed up" "$realmfs" backup "$scratch/local.realm" "$scratch/live.realm"
  check_status "with the newest commit" 0 'NewClass' "$realmfs" info "$scratch/live.realm"
  "$realmfs" umount "$point"
else
  not_ok "mount the local realm"
fi
check_status "convert a local realm" 1 'already a local realm' "$realmfs" convert --local "$people" "$scratch/x.realm"
check_status "convert to nothing" 2 '--local' "$realmfs" convert "$synced" "$scratch/x.realm"
equal "nothing is left of what was refused" "" "$(find "$scratch" -name '*.tmp*' -o -name 'x.realm' -o -name b)"
equal "compact --json" '{"file": true, "sizeAfter": true, "sizeBefore": true}' \
  "$("$realmfs" compact --json "$people" | python3 -c 'import json,sys; print(json.dumps({k: True for k in sorted(json.load(sys.stdin))}))')"
