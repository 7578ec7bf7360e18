#!/usr/bin/env bash
# An ordinary user mounts, reads and unmounts through fusermount3; other users have no access.
source "$(dirname "$0")/lib.sh"

as_user=()
if [ "$(id -u)" -eq 0 ]; then
  command -v setpriv >/dev/null || { skip "setpriv is absent: no ordinary user to test with"; exit; }
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
fi
if ! "${as_user[@]}" test -w /dev/fuse || [ ! -u "$(command -v fusermount3)" ]; then
  skip "ordinary users may not mount on this machine (/dev/fuse is closed to them, or fusermount3 is not setuid)"
  exit
fi

chmod 755 "$scratch"
point=$(new_directory mnt)
home=$(new_directory home)
cp "$fixtures/people.realm" "$home/people.realm"
file=$home/people.realm
[ ${#as_user[@]} -eq 0 ] || chown -R 65534:65534 "$point" "$home"
check "mount" "${as_user[@]}" "$realmfs" mount "$file" "$point"
equal "the owner reads" "19" "$("${as_user[@]}" ls "$point/Person" | wc -l)"
[ "$(id -u)" -ne 0 ] || check_status "even root is kept out" 2 'Permission denied' ls "$point"
check_status "a second mount is refused" 9 'already' "${as_user[@]}" "$realmfs" mount "$file" "$point"
check "umount" "${as_user[@]}" "$realmfs" umount "$point"
check "it is gone" is_not_mounted "$point"

"${as_user[@]}" "$realmfs" mount "$file" "$point"
pid=$(pgrep -f "^$realmfs mount $file $point\$")
kill -9 "$pid"
wait_until 5 is_dead "$pid"
check "a stale mount is detached and mounted again" "${as_user[@]}" "$realmfs" mount "$file" "$point"
equal "and read" "19" "$("${as_user[@]}" ls "$point/Person" | wc -l)"
check "umount --lazy" "${as_user[@]}" "$realmfs" umount --lazy "$point"
check_status "a mount point that the user may not use" 10 'mount' "${as_user[@]}" "$realmfs" mount -o nonempty "$file" /usr
