#!/usr/bin/env bash
# Reading changes no byte and no time of the realm file or its folder, leaves nothing beside it, and needs no right to
# write anywhere.
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

# What must stay. The times come first, for looking at the content changes them.
times() { stat -c '%n size=%s mode=%f owner=%u:%g inode=%i atime=%.9X mtime=%.9Y ctime=%.9Z' "$1/people.realm" "$1"; }
content() { sha256sum "$1/people.realm" && find "$1" -mindepth 1 -printf '%P\n' | sort; }

folder=$(new_directory folder)
point=$(new_directory mnt)
kind="with the access times of this file system"
mount -t tmpfs -o strictatime tmpfs "$folder" 2>/dev/null && kind="with strict access times"
cp "$fixtures/people.realm" "$folder/people.realm"
content_before=$(content "$folder")
touch -d '2020-02-03 04:05:06.789' "$folder/people.realm" "$folder"
times_before=$(times "$folder")
check "everything is read" read_everything "$folder/people.realm" "$point" --read-only
equal "no time, size or mode changed, $kind" "$times_before" "$(times "$folder")"
equal "no byte changed, and nothing was left in the folder" "$content_before" "$(content "$folder")"

if command -v strace >/dev/null; then
  traced() {
    strace -f -qq -e signal=none -o "$scratch/trace" -e trace=%file,flock,ftruncate,fchmod,fchown,futimesat "$@" >/dev/null
    # Looking at the attributes of the lock file is harmless; opening or locking it is not.
    grep -E "$folder|flock\(" "$scratch/trace" | grep -vE 'execve\(|O_RDONLY|stat|readlink|access\('
  }
  equal "system calls of info: the file is opened for reading, nothing else happens" "" \
    "$(traced "$realmfs" info "$folder/people.realm")"
  equal "system calls of cat: likewise" "" "$(traced "$realmfs" cat "$folder/people.realm" Person)"
else
  skip "strace is absent: system calls were not traced"
fi
umount "$folder" 2>/dev/null

# A folder that nobody can write to.
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
