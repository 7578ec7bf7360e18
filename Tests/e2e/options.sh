#!/usr/bin/env bash
# Mount options: owner, modes, notation, subset of classes, the control directory, and those for the kernel.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
chmod 640 "$file"
chown 123:456 "$file" 2>/dev/null
point=$(new_directory mnt)
attributes() { stat -c '%u:%g %a' "$point/Person/4.json" "$point/Person" | paste -sd' '; }
owner=$(stat -c %u:%g "$file")

# with WHAT EXPECTED COMMAND OPTION...: mounts with the options and compares what the command prints.
with() {
  local what=$1 expected=$2 command=$3 found
  shift 3
  # The realm belongs to another user.
  if "$realmfs" mount -o trust_owner "$@" "$file" "$point" 2>"$scratch/error"; then
    found=$(eval "$command" 2>&1)
    equal "$what" "$expected" "$found"
    "$realmfs" umount "$point" || not_ok "umount after: $what"
  else
    not_ok "$what: $(cat "$scratch/error")"
  fi
}

with "owner and modes follow the realm file" "$owner 640 $owner 750" attributes
with "uid, gid" "7:8 640 7:8 750" attributes -o uid=7,gid=8
with "uid and gid by name" "0:0 640 0:0 750" attributes -o uid=root,gid=root
with "umask" "$owner 600 $owner 700" attributes -o umask=077
with "fmask and dmask" "$owner 644 $owner 511" attributes -o fmask=133,dmask=266
check_status "an unknown user" 2 "no user 'nobody-of-that-name'" \
  "$realmfs" mount -o uid=nobody-of-that-name "$file" "$point"

with "one class" "Dog" 'ls "$point" | paste -sd" "' -o class=Dog
with "classes, by --class" "Dog Person" 'ls "$point" | paste -sd" "' --class Dog,Person
with "links into a class that is not shown stay" "Fido" 'jq -r .dog "$point/Person/4.json"' --class Person
check_status "a class that does not exist names those that do" 3 'Dog, Person' \
  "$realmfs" mount -o class=Cat "$file" "$point"
check "nothing was mounted" is_not_mounted "$point"

touch "$point/.hidden" "$point/file"
for program in "$realmfs mount" "$realmfs mount --read-only" "$realmfs mount -f"; do
  # shellcheck disable=SC2086
  check_status "a directory with files is refused ($program)" 9 'is not empty: the mount would hide .hidden and 1 more' \
    timeout 20 $program "$file" "$point"
done
ln -s "$realmfs" "$scratch/mount.fuse.realmfs"
check_status "the helper of mount(8) refuses it" 32 'is not empty' "$scratch/mount.fuse.realmfs" "$file" "$point" -o rw
check "and takes nonempty" "$scratch/mount.fuse.realmfs" "$file" "$point" -o rw,nonempty
"$realmfs" umount "$point"
with "-o nonempty hides what is there" "Dog Person" 'ls -A "$point" | paste -sd" "' -o nonempty
equal "and leaves it alone" ".hidden file" "$(ls -A "$point" | paste -sd' ')"
rm "$point/.hidden" "$point/file"
with "classes, by --class more than once and by -o class" "Dog Person" 'ls "$point" | paste -sd" "' --class Dog --class Person
with "classes, by both options" "Dog Person" 'ls "$point" | paste -sd" "' --class Dog -o class=Person
with "the control directory is hidden" "Dog Person" 'ls -A "$point" | paste -sd" "'
with "but there" "README" 'ls "$point/.realm/README" | xargs basename'
with "show_control" ".realm Dog Person" 'ls -A "$point" | paste -sd" "' -o show_control
with "cp -r takes data only" "Dog Person" 'cp -r "$point" "$scratch/copy"; ls -A "$scratch/copy" | paste -sd" "'

with "json=plain" '"2020-09-14T12:26:40.000001Z"' 'jq -c .joined "$point/Person/4.json"' -o json=plain
with "json=ejson" '{"$date":"2020-09-14T12:26:40.000001Z"}' 'jq -c .joined "$point/Person/4.json"' -o json=ejson
with "json=canonical" '{"$numberLong":"21"}' 'jq -c .age "$point/Person/4.json"' -o json=canonical
with "--json-style" '{"$numberLong":"21"}' 'jq -c .age "$point/Person/4.json"' --json-style canonical
check_status "an unknown notation" 2 'plain, ejson, canonical' "$realmfs" mount -o json=yaml "$file" "$point"

options_of() { awk -v point="$point" '$2 == point {print $4}' /proc/self/mounts | tr , '\n' | grep -xE "$1" | sort | paste -sd' '; }
with "a mount is for writing" "rw" 'options_of rw'
with "-o ro" "ro" 'options_of ro' -o ro
with "a read-only mount shows no write bits" "$owner 440 $owner 550" attributes -o ro
with "-o ro" "ro" 'options_of ro' -o ro
with "--read-only" "ro" 'options_of ro' --read-only
with "kernel options" "allow_other default_permissions nodev noexec nosuid" \
  'options_of "allow_other|default_permissions|nodev|noexec|nosuid"' \
  -o allow_other,default_permissions -o nosuid,nodev,noexec
with "the source is the file" "$file" 'findmnt -no SOURCE "$point" 2>/dev/null || grep " $point " /proc/self/mounts | cut -d" " -f1'
with "fsname" "data" 'grep " $point " /proc/self/mounts | cut -d" " -f1' -o fsname=data
with "the type is fuse.realmfs" "fuse.realmfs" 'grep " $point " /proc/self/mounts | cut -d" " -f3'
with "one thread" "19" 'ls "$point/Person" | wc -l' -s

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$scratch"
  as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups cat "$point/Person/4.json" 2>&1 | grep -oE "Permission denied|Person 1"'
  with "other users are kept out" "Permission denied" "$as_nobody" -o umask=000
  with "allow_other and default_permissions: modes decide (open)" "Person 1" "$as_nobody" -o allow_other,default_permissions,umask=000
  with "allow_other and default_permissions: modes decide (closed)" "Permission denied" "$as_nobody" \
    -o allow_other,default_permissions,umask=077
fi
