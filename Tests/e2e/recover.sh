#!/usr/bin/env bash
# Readable objects of damaged files are saved, and losses are reported.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
expected=$("$realmfs" cat "$file" Person | sha256sum)
check_status "a sound file" 0 'everything in this version is saved' "$realmfs" recover "$file" "$scratch/a.realm"
equal "holds the same afterwards" "$expected" "$("$realmfs" cat "$scratch/a.realm" Person | sha256sum)"
cp "$file" "$scratch/slot.realm" && printf '\x00' | dd of="$scratch/slot.realm" bs=1 seek=23 conv=notrunc status=none
if cmp -s "$file" "$scratch/slot.realm"; then printf '\x01' | dd of="$scratch/slot.realm" bs=1 seek=23 conv=notrunc status=none; fi
check_status "check warns if the header selects an older version" 0 'warning: the other slot of the header points to version' \
  "$realmfs" check "$scratch/slot.realm"
check_status "with the name of the file if it checks several" 0 "^$scratch/slot.realm: warning: the other slot" \
  "$realmfs" check "$file" "$scratch/slot.realm"
check_status "no file is replaced" 1 'exists' "$realmfs" recover "$file" "$scratch/a.realm"
check "with a key" "$realmfs" recover --key-file "$key_file" "$fixtures/people-encrypted.realm" "$scratch/e.realm"
check_status "the outcome has the same key" 0 'Person' "$realmfs" info --key-file "$key_file" "$scratch/e.realm"
check_status "a wrong key" 6 'wrong' "$realmfs" recover --key-file <(head -c 64 /dev/zero) \
  "$fixtures/people-encrypted.realm" "$scratch/w.realm"

lost=$scratch/slots.realm
cp "$fixtures/people-encrypted.realm" "$lost"
chmod u+w "$lost"
dd if=/dev/urandom of="$lost" bs=672 count=1 conv=notrunc status=none
for command in info check cat; do
  check_status "$command says that the key is right" 4 'the key is right' "$realmfs" $command --key-file "$key_file" "$lost"
done
check_status "but a wrong one is wrong" 6 'wrong encryption key' "$realmfs" cat --key-file <(head -c 64 /dev/zero) "$lost"
check_status "a lost table of initialization vectors is reported" 4 'read without verification' \
  "$realmfs" recover --key-file "$key_file" "$lost" "$scratch/slots-out.realm"
check "and costs nothing here" "$realmfs" diff --key-file "$key_file" "$fixtures/people-encrypted.realm" "$scratch/slots-out.realm"

dd if=/dev/zero of="$file" bs=24 count=1 conv=notrunc status=none
check_status "without its header the file does not open" 4 '' "$realmfs" info "$file"
check_status "but is recovered" 4 'search through the file' "$realmfs" recover "$file" "$scratch/b.realm"
equal "with all objects" "$expected" "$("$realmfs" cat "$scratch/b.realm" Person | sha256sum)"

file=$(copy_fixture people)
dd if=/dev/zero of="$file" bs=16 count=1 conv=notrunc status=none
sum=$(sha256sum <"$file")
mnt=$(new_directory blank)
echo '{"name":"x"}' >"$scratch/Dog.jsonl"
for command in "info $file" "check $file" "schema $file" "cat $file" "cat $file Dog" "query $file Dog TRUEPREDICATE" \
  "export $file $scratch/x" "export --verify $file $scratch/x.sqlite" "diff $file $file" "backup $file $scratch/x" "compact $file" \
  "encrypt --key-file $key_file $file" "encrypt --key-file $key_file $file $scratch/x" "upgrade $file" "seal $file" \
  "convert --local $file $scratch/x" "import $file $scratch/Dog.jsonl" "insert $file Dog {}" "watch $file" "mount $file $mnt"; do
  # shellcheck disable=SC2086
  check_status "${command//$scratch\//}: not an empty realm" 4 'points to no version.*realmfs recover' timeout 60 "$realmfs" $command
done
equal "nothing was made" "" "$(compgen -G "$scratch/x*")"
equal "info lists what is there" "version 5" "$("$realmfs" info "$file" 2>/dev/null | grep -o '^version 5')"
for access in --read-only --immutable; do
  serve "$file" "$mnt" $access
  equal "a mount with $access shows what is there" "5 19" "$(ls "$mnt/Dog" | wc -l) $(ls "$mnt/Person" | wc -l)"
  stop_server "$mnt"
done
check_status "--as-empty" 0 '' "$realmfs" backup --as-empty "$file" "$scratch/as-empty.realm"
equal "which is what it says" "" "$("$realmfs" cat "$scratch/as-empty.realm")"
equal "the file is as it was" "$sum" "$(sha256sum <"$file")"
check_status "it is recovered" 4 'everything that this version reaches is saved' "$realmfs" recover "$file" "$scratch/h.realm"
equal "with all objects of that version" "$expected" "$("$realmfs" cat "$scratch/h.realm" Person | sha256sum)"
serve "$file" "$mnt" --as-empty -o create_classes
check "a mount with --as-empty takes changes" mkdir "$mnt/New"
stop_server "$mnt"
equal "which replace the rest" "New" "$("$realmfs" cat "$file")"
check "an empty realm is recovered too" sh -c "'$realmfs' create '$scratch/n.realm' && '$realmfs' recover '$scratch/n.realm' '$scratch/n2.realm'"

# The names and properties of the classes are overwritten.
file=$(copy_fixture people)
dd if=/dev/zero of="$file" bs=600 count=1 conv=notrunc status=none
"$realmfs" schema "$fixtures/people.realm" >"$scratch/people.json"
check_status "without a schema, a class is lost" 4 'recovered_0: 19 objects' "$realmfs" recover "$file" "$scratch/s1.realm"
check_status "with one, it is saved" 4 'Person: 19 objects saved; lost: [0-9]+ (value|link)' \
  "$realmfs" recover --schema "$scratch/people.json" "$file" "$scratch/s2.realm"
equal "with its objects" "$("$realmfs" cat "$fixtures/people.realm" Dog)" "$("$realmfs" cat "$scratch/s2.realm" Dog)"
equal "and the other class has its name, and all but the two lists that were overwritten" \
  'Person/4.json Person/11.json' "$("$realmfs" diff "$fixtures/people.realm" "$scratch/s2.realm" | awk '{ print $2 }' | sort -u | sort -V | xargs)"
head -c 4096 /dev/zero >"$scratch/zeros"
check_status "a schema alone makes no realm" 4 'nothing can be saved' \
  "$realmfs" recover --schema "$scratch/people.json" "$scratch/zeros" "$scratch/s3.realm"

# Files as they are found.
rescue=$fixtures/rescue
for name in bom latin1-as-utf8 offset-512 offset-777 tls-alert; do
  check_status "$name" 0 'everything in this version is saved' "$realmfs" recover "$rescue/$name.realm" "$scratch/$name.realm"
  check "$name: nothing differs" "$realmfs" diff "$fixtures/people.realm" "$scratch/$name.realm"
done
check_status "powershell-utf16" 4 'UTF-16' "$realmfs" recover "$rescue/powershell-utf16.realm" "$scratch/powershell.realm"
equal "has its objects" "5 19" "$("$realmfs" cat "$scratch/powershell.realm" Dog | wc -l) $("$realmfs" cat "$scratch/powershell.realm" Person | wc -l)"
for name in cut-copy-24 cut-copy-1640 cut-copy-half no-roots no-roots-nested; do
  check_status "$name" 4 'found via a search for tables, as no version is left' "$realmfs" recover "$rescue/$name.realm" "$scratch/$name.realm"
  check "$name: what was saved is sound" "$realmfs" check "$scratch/$name.realm"
done
for name in cut-copy-24 no-roots; do
  check "$name: nothing differs" "$realmfs" diff "$fixtures/people.realm" "$scratch/$name.realm"
done
equal "a copy that lost its second half has the first class" "$("$realmfs" cat "$fixtures/people.realm" Dog)" "$("$realmfs" cat "$scratch/cut-copy-half.realm" Dog)"
equal "and the properties of the other one" '_id' "$("$realmfs" schema --class Person "$scratch/cut-copy-half.realm" | jq -r '.properties | keys[]' | grep _id)"
equal "without a root all objects are there" 12 "$("$realmfs" cat "$scratch/no-roots-nested.realm" Doc | wc -l)"
check_status "an image with two realms" 4 'at bytes 1000, 12192' "$realmfs" recover "$rescue/image-two-realms.bin" "$scratch/i.realm"
for offset in 1000 12192; do
  check_status "the one at $offset" 0 'everything in this version' "$realmfs" recover --offset $offset "$rescue/image-two-realms.bin" "$scratch/i$offset.realm"
done
for name in git-lfs-pointer:'git lfs pull' adb-cat:'No such file or directory' adb-run-as:'not debuggable' \
  link-as-text:'shared/default.realm' powershell-utf16:PowerShell bom:'byte order mark'; do
  for command in info check cat "mount --immutable"; do
    # shellcheck disable=SC2086
    check_status "$command of ${name%%:*}" 4 "${name#*:}" "$realmfs" $command "$rescue/${name%%:*}.realm" $([ "$command" = "mount --immutable" ] && echo "$mnt")
  done
done

# Files as git with core.autocrlf and FTP in ASCII mode leave them; some contain line feeds after carriage returns.
for name in people strings primary-keys; do
  text=$scratch/text-$name.realm
  perl -pe 's/\n/\r\n/g' "$fixtures/$name.realm" >"$text"
  check_status "$name converted as a text does not open, and info says what to do" 4 'recover. reverts that' "$realmfs" info "$text"
  check_status "recover undoes that" 0 'everything in this version is saved' "$realmfs" recover "$text" "$scratch/untext-$name.realm"
  check "nothing differs" "$realmfs" diff "$fixtures/$name.realm" "$scratch/untext-$name.realm"
done
perl -pe 's/\n/\r\n/g' "$fixtures/people-encrypted.realm" >"$scratch/text-e.realm"
check_status "an encrypted one too" 0 'everything in this version is saved' "$realmfs" recover --key-file "$key_file" "$scratch/text-e.realm" "$scratch/untext-e.realm"
check "nothing differs" "$realmfs" diff --key-file "$key_file" "$fixtures/people-encrypted.realm" "$scratch/untext-e.realm"

big=$(copy_fixture items-10k)
truncate -s 300000 "$big"
check_status "a file that is cut short loses what was cut" 4 'lost|nothing can be saved' "$realmfs" recover "$big" "$scratch/c.realm"
[ ! -e "$scratch/c.realm" ] || check "what was saved is sound" "$realmfs" check "$scratch/c.realm"
check_status "--json" 4 '"whole": ?false|nothing can be saved' "$realmfs" recover --json "$big" "$scratch/d.realm"
printf 'a text that is long enough for a header, but no realm' >"$scratch/text"
check_status "no realm at all" 4 'nothing can be saved' "$realmfs" recover "$scratch/text" "$scratch/t.realm"
equal "nothing is left of what failed" "" "$(find "$scratch" -name '*.tmp*' -o -name 't.realm' -o -name 'w.realm' -o -name '*.upgrade*')"
