#!/usr/bin/env bash
# The exit codes of the manual, each in a typical case.
source "$(dirname "$0")/lib.sh"

file=$fixtures/people.realm
point=$(new_directory mnt)
check_status "0: help" 0 'Usage' "$realmfs" --help
for command in mount umount status info schema cat export import query set insert delete undo diff watch browse create check backup compact encrypt decrypt \
  rekey upgrade convert recover version help; do
  check_status "0: $command --help" 0 "Usage: realmfs $command" "$realmfs" $command --help
done
check_status "0: version" 0 'realmfs [0-9]+\.[0-9]+' "$realmfs" --version
check_status "2: no command" 2 "realmfs --help" "$realmfs"
check_status "2: an unknown command" 2 "unknown command 'mout'" "$realmfs" mout
check_status "2: an unknown command names the one that was meant" 2 "unknown command 'munt'; did you mean mount\? See" "$realmfs" munt
check_status "2: a file alone names commands" 2 "'realmfs info .*people.realm' or 'realmfs mount .*people.realm MOUNTPOINT'" \
  "$realmfs" "$file"
check_status "2: an unknown option names the one that was meant" 2 'unknown option --jsn; did you mean --json\? See' \
  "$realmfs" info --jsn "$file"
check_status "2: an unknown option names itself and the help" 2 "unknown option --colour; see 'realmfs cat --help'" \
  "$realmfs" cat --colour "$file" Person
check_status "2: for an option of another program, the message names the equivalent" 2 'unknown option --order-by; use --sort' \
  "$realmfs" query --order-by age "$file" Person
check_status "2: also for keys" 2 'unknown option --password; use --key-file FILE' "$realmfs" info --password x "$file"
check_status "2: an unknown mount option" 2 'unknown mount option -o colour' "$realmfs" mount -o colour "$file" "$point"
check_status "2: an unknown mount option names the one that was meant" 2 'did you mean umask\?' \
  "$realmfs" mount -o umaks=0 "$file" "$point"
for classes in "-o class=:" "-o class=Dog::Person" "--class=" "--class=Dog,"; do
  # shellcheck disable=SC2086
  check_status "2: an empty name of a class ($classes)" 2 'has an empty class name' \
    "$realmfs" mount $classes "$file" "$point"
done
check_status "2: a missing argument" 2 'MOUNTPOINT is missing' "$realmfs" mount "$file"
check_status "2: one argument too many" 2 "unexpected argument 'x'" "$realmfs" versions "$file" x
check_status "2: an object of cat in two words" 2 "did you mean 'Person/4'" "$realmfs" cat "$file" Person 4
check_status "2: a class where an option names it" 2 'for one class: --class Person' "$realmfs" schema "$file" Person
check_status "2: a missing argument names the option instead of it" 2 'NEW is missing, or --previous' "$realmfs" diff "$file"
check_status "2: the mount point before the file" 2 'the file comes first' "$realmfs" mount "$point" "$file"
check_status "2: a format that is not written" 2 'cannot write \.xls' "$realmfs" export "$file" "$scratch/out.xls"
check_status "5: rekey without the new key" 5 'for example --new-key-file' "$realmfs" rekey --key-file "$key_file" "$file"
check_status "2: exclusive options" 2 'exclude each other' "$realmfs" mount --read-only --immutable "$file" "$point"
check_status "2: a refused mount option says why" 2 'the type is always' "$realmfs" mount -o subtype=x "$file" "$point"
check_status "2: a bad mode" 2 'octal' "$realmfs" mount -o umask=9 "$file" "$point"
check_status "2: an unknown style" 2 'plain, ejson, canonical' "$realmfs" cat --json-style xml "$file" Person
for command in info schema check; do
  check_status "3: $command of a missing file" 3 'No such file' "$realmfs" $command "$scratch/absent.realm"
done
check_status "3: a directory" 3 'a directory; name a Realm file' "$realmfs" info "$scratch"
serve "$(copy_fixture people)" "$point"
for command in "cat" "info" "set Person/4 age=3" "compact"; do
  # shellcheck disable=SC2086
  set -- $command
  name=$1
  shift
  check_status "3: a mount instead of the file ($name)" 3 "a mount of $scratch/people.realm; name the file itself" \
    "$realmfs" "$name" "$point" "$@"
done
check_status "9: umount of the file" 9 "mounted at $point: 'realmfs umount $point'" "$realmfs" umount "$scratch/people.realm"
check_status "9: umount of a class" 9 "in a mount: 'realmfs umount $point'" "$realmfs" umount "$point/Person"
stop_server "$point"
if [ "$(id -u)" -eq 0 ]; then
  chmod 755 "$scratch" && cp "$realmfs" "$scratch/program"
  cp "$file" "$scratch/locked.realm" && chmod 444 "$scratch/locked.realm"
  check_status "3: a file that may only be read" 3 'you may read the file, but not write to it' \
    setpriv --reuid 65534 --clear-groups "$scratch/program" set "$scratch/locked.realm" Person/4 age=3
fi
for command in "cat Dgo" "query Dgo x" "export --class Dgo" "schema --class Dgo" "mount --class Dgo $point" "mount -o class=Dgo $point"; do
  # shellcheck disable=SC2086
  set -- $command
  name=$1
  shift
  check_status "a class that does not exist names the one that was meant ($command)" 3 'did you mean Dog\? it has Dog, Person' \
    "$realmfs" "$name" "$file" "$@"
done
check_status "3: a missing class" 3 'no class' "$realmfs" cat "$file" Absent
printf 'no realm at all, but long enough for a header' >"$scratch/text.realm"
check_status "4: a text file" 4 'not a Realm file: it is a text file' \
  "$realmfs" info "$scratch/text.realm"
: >"$scratch/zero.realm"
check_status "4: an empty file" 4 'empty' "$realmfs" info "$scratch/zero.realm"
head -c 4096 "$file" >"$scratch/cut.realm"
check_status "4: a truncated file" 4 'truncated|damaged' "$realmfs" info "$scratch/cut.realm"
check_status "5: no key" 5 'key' "$realmfs" info "$fixtures/people-encrypted.realm"
head -c 64 /dev/urandom >"$scratch/key"
check_status "6: a wrong key" 6 'key' "$realmfs" info --key-file "$scratch/key" "$fixtures/people-encrypted.realm"
cp "$file" "$scratch/old.realm"
printf '\x01\x01' | dd of="$scratch/old.realm" bs=1 seek=20 conv=notrunc status=none
check_status "7: a format that is too old" 7 'format 1' "$realmfs" info "$scratch/old.realm"
printf '\x63\x63' | dd of="$scratch/old.realm" bs=1 seek=20 conv=notrunc status=none
check_status "7: a format that is too new" 7 'format 99' "$realmfs" info "$scratch/old.realm"
mkdir "$scratch/full" && touch "$scratch/full/.hidden"
check_status "9: a mount point with files in it" 9 'not empty: the mount would hide .hidden; .*-o nonempty' \
  "$realmfs" mount "$file" "$scratch/full"
check_status "9: no mount point" 9 'mount point' "$realmfs" mount "$file" "$scratch/absent"
# refuses_held_lock_file.sh tests 8. 10: FUSE is missing.
if unshare --mount true 2>/dev/null; then
  check_status "10: FUSE is missing" 10 'fuse' unshare --mount bash -c \
    'mount -t tmpfs tmpfs /dev && mkdir -p /dev/shm && mknod -m 666 /dev/null c 1 3 && exec "$@"' - \
    "$realmfs" mount "$file" "$point"
else
  skip "a private mount table needs root: FUSE was not taken away"
fi
equal "info --json of a file that does not open is JSON with the exit code" "3" \
  "$("$realmfs" info --json "$scratch/absent.realm" 2>/dev/null | jq .exitCode)"
equal "info --json" '24 false 2 "Dog" 5' \
  "$("$realmfs" info --json "$file" | jq '.format, .encrypted, (.classes | length), .classes[0].name, .classes[0].objects' | paste -sd' ')"
