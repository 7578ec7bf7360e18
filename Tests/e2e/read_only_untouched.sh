#!/usr/bin/env bash
# Reading changes no byte and no timestamp of the realm file or its directory, leaves no file beside it, and needs no write
# permission.
source "$(dirname "$0")/lib.sh"

read_everything() {
  local file=$1 point=$2
  shift 2
  "$realmfs" info "$file" && "$realmfs" schema "$file" && "$realmfs" check "$file" && "$realmfs" cat "$file" Person &&
    "$realmfs" cat "$file" Person/4.json && "$realmfs" mount "$@" "$file" "$point" &&
    cp -r "$point" "$scratch/copy" && cat "$point"/.realm/*.json && "$realmfs" umount "$point"
  local status=$?
  rm -rf "$scratch/copy"
  return $status
}

# The state that must not change. The times come first, because reading the content changes them.
times() { stat -c '%n size=%s mode=%f owner=%u:%g inode=%i atime=%.9X mtime=%.9Y ctime=%.9Z' "$1/people.realm" "$1"; }
first_but_access_time() { head -n 1 <<<"$1" | sed 's/ atime=[^ ]*//'; }
content() { sha256sum "$1/people.realm" && find "$1" -mindepth 1 -printf '%P\n' | sort; }

folder=$(new_directory folder)
point=$(new_directory mnt)
kind="with the access times of this file system"
mount -t tmpfs -o strictatime tmpfs "$folder" 2>/dev/null && kind="with strict access times"
cp "$fixtures/people.realm" "$folder/people.realm"
content_before=$(content "$folder")
touch -d '2020-02-03 04:05:06.789' "$folder/people.realm" "$folder"
times_before=$(times "$folder")
check "everything is read" read_everything "$folder/people.realm" "$point" --immutable
equal "no time, size or mode changed, $kind" "$times_before" "$(times "$folder")"
equal "no byte changed, and nothing was left in the folder" "$content_before" "$(content "$folder")"

if command -v strace >/dev/null; then
  traced() {
    strace -f -qq -e signal=none -o "$scratch/trace" -e trace=%file,flock,ftruncate,fchmod,fchown,futimesat "$@" >/dev/null
    # Reading the attributes of the lock file is harmless; opening or locking it is not.
    grep -E "$folder|flock\(" "$scratch/trace" | grep -vE 'execve\(|O_RDONLY|stat|readlink|access\('
  }
  equal "system calls of info: the file is opened for reading, nothing else happens" "" \
    "$(traced "$realmfs" info "$folder/people.realm")"
  equal "system calls of cat: likewise" "" "$(traced "$realmfs" cat "$folder/people.realm" Person)"
else
  skip "strace is absent: system calls were not traced"
fi
for option in --read-only --verbose; do
  check "everything is read with $option" read_everything "$folder/people.realm" "$point" "$option"
  equal "the realm file did not change" "$(first_but_access_time "$times_before")" \
    "$(first_but_access_time "$(times "$folder")")"
  equal "none of its bytes did" "${content_before%%$'\n'*}" "$(content "$folder" | head -n 1)"
done
cp "$fixtures/streaming-form.realm" "$folder/copied.realm"
before=$(sha256sum "$folder/copied.realm")
check "a copy is mounted for writing" "$realmfs" mount "$folder/copied.realm" "$point"
check "and read" grep -rq . "$point"
check "umount" "$realmfs" umount "$point"
equal "it is still the same copy" "$before" "$(sha256sum "$folder/copied.realm")"
umount "$folder" 2>/dev/null

# A folder without write permission.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  folder=$(new_directory closed)
  cp "$fixtures/people.realm" "$folder/people.realm"
  chmod 755 "$scratch" "$folder"
  chmod 666 "$folder/people.realm" /dev/fuse
  user_point=$(new_directory usermnt)
  chown 65534 "$user_point"
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  check_status "where no lock file can be made, mount suggests --immutable" 3 "people.realm.lock: .*--immutable" \
    "${as_user[@]}" "$realmfs" mount "$folder/people.realm" "$user_point"
  check_status "--read-only does what --immutable does, and says so" 0 \
    "people.realm.lock cannot be used \(Permission denied\), so the realm is mounted as with --immutable" \
    "${as_user[@]}" "$realmfs" mount --read-only "$folder/people.realm" "$user_point"
  equal "--read-only: the tree is there" "Dog Person" "$("${as_user[@]}" ls "$user_point" | paste -sd' ')"
  "${as_user[@]}" "$realmfs" umount "$user_point"
  chmod 644 "$folder/people.realm"
  check_status "so does a mount of a file that is write-protected" 0 "so the realm is mounted as with --immutable" \
    "${as_user[@]}" "$realmfs" mount "$folder/people.realm" "$user_point"
  "${as_user[@]}" "$realmfs" umount "$user_point"
  # A lock file of another user.
  (umask 077 && : >"$folder/people.realm.lock")
  check "a lock file that may not be opened is no obstacle either" \
    "${as_user[@]}" "$realmfs" mount --read-only "$folder/people.realm" "$user_point"
  "${as_user[@]}" "$realmfs" umount "$user_point"
  out=$(new_directory copies)
  chown 65534 "$out"
  for command in "info @" "schema @" "check @" "cat @ Person" "query @ Person TRUEPREDICATE" "export @" "diff @ @" \
    "diff --previous @" "backup @ $out/backup" "recover @ $out/recovered"; do
    # shellcheck disable=SC2086
    set -- ${command//@/$folder/people.realm}
    "${as_user[@]}" "$realmfs" "$@" >"$scratch/shown" 2>&1
    status=$?
    # diff exits with 1 if there are differences.
    check "$command works there" test $status -eq 0 -o "$1 $2 $status" = "diff --previous 1" -a -s "$scratch/shown"
  done
fi
folder=$(new_directory source)
bound=$(new_directory bound)
cp "$fixtures/people.realm" "$folder/people.realm"
if mount --bind "$folder" "$bound" && mount -o remount,ro,bind "$bound"; then
  check "a realm on a read-only mount, with --immutable" read_everything "$bound/people.realm" "$point" --immutable
  check "a realm on a read-only mount, without options" read_everything "$bound/people.realm" "$point"
else
  skip "read-only bind mounts need root"
fi
chmod 555 "$folder"
chmod 444 "$folder/people.realm"
check "a read-only file in a read-only folder, with --immutable" \
  read_everything "$folder/people.realm" "$point" --immutable
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$scratch"
  check "the same as a user without any right to write" setpriv --reuid=65534 --regid=65534 --clear-groups \
    "$realmfs" cat "$folder/people.realm" Person
fi
