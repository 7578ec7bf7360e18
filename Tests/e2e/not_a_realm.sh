#!/usr/bin/env bash
# Files that are not realms, or that appear to be encrypted, truncated or empty: every command reports what the file is,
# with the corresponding exit code, and changes nothing.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
point=$(new_directory mnt)
wrong=$scratch/wrong.key
head -c 64 /dev/urandom >"$wrong"
secret=$fixtures/people-encrypted.realm
printf 'SQLite format 3\0 and more of the database' >sqlite
gzip -c "$fixtures/people.realm" >gzip
printf 'PK\x03\x04 and more of the archive ................' >zip
head -c 5000 "$(command -v bash)" >elf
echo 'not a realm at all, but text' >text
head -c 8192 /dev/zero >zeros
: >empty
head -c 8192 /dev/urandom >random
cp "$secret" encrypted

# every_command STATUS PATTERN FILE: status and message of each command that opens a realm.
every_command() {
  local status=$1 pattern=$2 file=$3 before
  before=$(sha256sum <"$file")
  local commands=(
    "info $file" "info --json $file" "check $file" "schema $file" "cat $file Dog" "query $file Dog TRUEPREDICATE"
    "export $file" "diff $file $file" "diff --previous $file" "backup $file out" "compact $file" "convert --local $file out"
    "upgrade $file" "recover $file out" "import $file $scratch/Dog.jsonl" "mount $file $point" "mount --immutable $file $point"
    "mount --read-only $file $point" "watch $file"
  )
  echo '{"name":"x"}' >Dog.jsonl
  for command in "${commands[@]}"; do
    # shellcheck disable=SC2086
    check_status "$command" "$status" "$pattern" timeout 20 "$realmfs" $command
  done
  equal "$file is as it was" "$before" "$(sha256sum <"$file")"
  equal "nothing was made" "" "$(compgen -G 'out*')"
}
every_command 4 'a SQLite database' sqlite
every_command 4 'a text file' text
every_command 4 'an empty file' empty
every_command 5 'looks encrypted: give its key' encrypted
for file in gzip:'a gzip archive: unpack it first' zip:'a zip archive: unpack it first' elf:'an ELF program' \
  zeros:'begins with zeros' random:'not a Realm file, and not an encrypted one either'; do
  check_status "${file%%:*}" 4 "${file#*:}" "$realmfs" cat "${file%%:*}" Dog
done
check_status "a key does not make another file a realm" 4 'a SQLite database' "$realmfs" cat --key-file "$key_file" sqlite Dog
check_status "random bytes cannot be told from a wrong key" 6 'wrong encryption key, or not an encrypted Realm file' \
  "$realmfs" cat --key-file "$key_file" random Dog
check_status "recover of another file says what it is" 4 'no version of a realm is left in it: it is a text file' \
  "$realmfs" recover text out
cp "$fixtures/people.realm" headless
printf '\xff' | dd of=headless bs=1 seek=16 conv=notrunc status=none
check_status "a realm with a damaged header" 4 "'realmfs recover' looks for what is left" "$realmfs" cat headless Dog
check "and it does" "$realmfs" recover headless recovered

# Encrypted files.
check_status "encrypt with the key that it has" 1 'is already encrypted, with this key' "$realmfs" encrypt --key-file "$key_file" encrypted
check_status "encrypt with another key" 1 "looks already encrypted: 'realmfs rekey'" "$realmfs" encrypt --key-file "$wrong" encrypted
check_status "encrypt to a new file" 1 "looks already encrypted: 'realmfs rekey'" "$realmfs" encrypt --key-file "$wrong" encrypted out
check_status "encrypt what is no realm" 4 'a SQLite database' "$realmfs" encrypt --key-file "$wrong" sqlite
check "it is as it was" cmp encrypted "$secret"
size=$(stat -c %s encrypted)
for length in $((size - 1)) $((size - 4095)) 8200; do
  head -c $length encrypted >cut
  check_status "cut to $length bytes, without key" 5 'looks like a truncated encrypted realm' "$realmfs" cat cut Dog
  check_status "cut to $length bytes, the right key" 4 'truncated: .*the key is right' "$realmfs" cat --key-file "$key_file" cut Dog
  check_status "cut to $length bytes, another key" 6 'wrong encryption key' "$realmfs" cat --key-file "$wrong" cut Dog
done
head -c $((size - 4096)) encrypted >cut
check_status "cut between pages, the right key" 4 'truncated; the key is right' "$realmfs" cat --key-file "$key_file" cut Dog

# An app turns an empty file into a realm, and so do commands that create realms.
"$realmfs" schema "$fixtures/people.realm" >schema.json
check "mount --schema" "$realmfs" mount --schema schema.json --compact-on-launch 'total > 0' empty "$point"
equal "an empty file has become a realm" "Dog Person" "$(ls "$point" | paste -sd' ')"
"$realmfs" umount "$point"
