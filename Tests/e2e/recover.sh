#!/usr/bin/env bash
# What is left of damaged files is saved, and what is lost is said.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
expected=$("$realmfs" cat "$file" Person | sha256sum)
check_status "a sound file" 0 'nothing is lost' "$realmfs" recover "$file" "$scratch/a.realm"
equal "holds the same afterwards" "$expected" "$("$realmfs" cat "$scratch/a.realm" Person | sha256sum)"
check_status "no file is replaced" 1 'exists' "$realmfs" recover "$file" "$scratch/a.realm"
check "with a key" "$realmfs" recover --key-file "$key_file" "$fixtures/people-encrypted.realm" "$scratch/e.realm"
check_status "the outcome has the same key" 0 'Person' "$realmfs" info --key-file "$key_file" "$scratch/e.realm"
check_status "a wrong key" 6 'wrong' "$realmfs" recover --key-file <(head -c 64 /dev/zero) \
  "$fixtures/people-encrypted.realm" "$scratch/w.realm"

dd if=/dev/zero of="$file" bs=24 count=1 conv=notrunc status=none
check_status "without its header the file does not open" 4 '' "$realmfs" info "$file"
check_status "but is recovered" 0 'search through the file' "$realmfs" recover "$file" "$scratch/b.realm"
equal "with all objects" "$expected" "$("$realmfs" cat "$scratch/b.realm" Person | sha256sum)"

file=$(copy_fixture people)
dd if=/dev/zero of="$file" bs=16 count=1 conv=notrunc status=none
sum=$(sha256sum <"$file")
check_status "a header that leads nowhere: info tells that there is a version" 0 'recover' "$realmfs" info "$file"
check_status "so does check" 0 'warning: .*recover' "$realmfs" check "$file"
check_status "compact does not write over it" 1 'recover' "$realmfs" compact "$file"
check_status "insert finds no class" 3 'no class' "$realmfs" insert "$file" Person '{}'
mnt=$(new_directory blank)
serve "$file" "$mnt"
equal "the mount is empty, as for apps" "" "$(ls "$mnt")"
check_status "and read-only" 1 'Read-only' mkdir "$mnt/New"
stop_server "$mnt"
equal "the file is as it was" "$sum" "$(sha256sum <"$file")"
check_status "it is recovered" 0 'version is whole' "$realmfs" recover "$file" "$scratch/h.realm"
equal "with all objects of that version" "$expected" "$("$realmfs" cat "$scratch/h.realm" Person | sha256sum)"
check "an empty realm is recovered too" sh -c "'$realmfs' create '$scratch/n.realm' && '$realmfs' recover '$scratch/n.realm' '$scratch/n2.realm'"

# As git with core.autocrlf and FTP in ASCII mode leave a file; there are line feeds behind carriage returns in some.
for name in people strings primary-keys; do
  text=$scratch/text-$name.realm
  perl -pe 's/\n/\r\n/g' "$fixtures/$name.realm" >"$text"
  check_status "$name converted as a text does not open, and info says what to do" 4 'recover. takes them out' "$realmfs" info "$text"
  check_status "recover undoes that" 0 'nothing is lost' "$realmfs" recover "$text" "$scratch/untext-$name.realm"
  check "nothing differs" "$realmfs" diff "$fixtures/$name.realm" "$scratch/untext-$name.realm"
done
perl -pe 's/\n/\r\n/g' "$fixtures/people-encrypted.realm" >"$scratch/text-e.realm"
check_status "an encrypted one too" 0 'nothing is lost' "$realmfs" recover --key-file "$key_file" "$scratch/text-e.realm" "$scratch/untext-e.realm"
check "nothing differs" "$realmfs" diff --key-file "$key_file" "$fixtures/people-encrypted.realm" "$scratch/untext-e.realm"

big=$(copy_fixture items-10k)
truncate -s 300000 "$big"
check_status "a file that is cut short loses what was cut" 4 'lost|nothing can be saved' "$realmfs" recover "$big" "$scratch/c.realm"
[ ! -e "$scratch/c.realm" ] || check "what was saved is sound" "$realmfs" check "$scratch/c.realm"
check_status "--json" 4 '"whole": ?false|nothing can be saved' "$realmfs" recover --json "$big" "$scratch/d.realm"
printf 'a text that is long enough for a header, but no realm' >"$scratch/text"
check_status "no realm at all" 4 'nothing can be saved' "$realmfs" recover "$scratch/text" "$scratch/t.realm"
equal "nothing is left of what failed" "" "$(find "$scratch" -name '*.tmp*' -o -name 't.realm' -o -name 'w.realm' -o -name '*.upgrade*')"
