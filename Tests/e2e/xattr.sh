#!/usr/bin/env bash
# The extended attributes: class, object key and version.
source "$(dirname "$0")/lib.sh"

point=$(new_directory mnt)
"$realmfs" mount "$fixtures/people.realm" "$point" || not_ok "mount"
# attributes FILE NAME...: prints those that exist.
attributes() {
  python3 -c '
import os, sys
for name in sys.argv[2:]:
    try: print(name + "=" + os.getxattr(sys.argv[1], name).decode(), end=" ")
    except OSError: pass' "$1" user.realm.{class,key,version} user.realmfs.pid 2>&1
}
version=$(cat "$point/.realm/version")
equal "an object" "user.realm.class=Person user.realm.key=1 user.realm.version=$version " "$(attributes "$point/Person/4.json")"
equal "a class" "user.realm.class=Person user.realm.version=$version " "$(attributes "$point/Person")"
equal "the root" "user.realm.version=$version user.realmfs.pid=" "$(attributes "$point" | sed 's/pid=[0-9]* /pid=/')"
server=$(attributes "$point" | sed 's/.*pid=//')
equal "which names the process" realmfs "$(cat "/proc/${server% }/comm")"
equal "an attribute that does not exist" "ENODATA" "$(python3 -c '
import errno, os, sys
try: os.getxattr(sys.argv[1], "user.absent")
except OSError as error: print(errno.errorcode[error.errno])' "$point/Person/4.json")"
check_status "attributes cannot be set" 1 'not supported' python3 -c '
import os, sys
try: os.setxattr(sys.argv[1], "user.x", b"1")
except OSError as error: sys.exit(error.strerror)' "$point/Person/4.json"
# Programs copy listed attributes and would fail to set them again.
equal "none is listed" "" "$(python3 -c 'import os, sys; print(*[n for f in sys.argv[1:] for n in os.listxattr(f)])' \
  "$point" "$point/Person" "$point/Person/4.json")"
mkdir "$scratch/copy"
check "a copy with attributes" rsync -aX --exclude=.realm "$point/" "$scratch/copy/"
check "comes back by rsync" rsync -aXI "$scratch/copy/" "$point/"
check "by tar" bash -c 'tar --xattrs -C "$1" --exclude=./.realm -cf "$2" . && tar --xattrs -xf "$2" -C "$1"' - "$point" "$scratch/a.tar"
check "and by cp" cp --recursive --preserve=all "$scratch/copy/." "$point/"
if command -v getfattr >/dev/null; then
  equal "getfattr" "Person" "$(getfattr --absolute-names --only-values -n user.realm.class "$point/Person/4.json" 2>&1)"
fi
"$realmfs" umount "$point" || not_ok "umount"
[ ! -e "/proc/${server% }" ] || grep -q "State:.Z" "/proc/${server% }/status" || not_ok "umount returned before the process had ended"
