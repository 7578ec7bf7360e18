#!/usr/bin/env bash
# Files created beside a realm have the protection of the realm and its folder: owner, group, mode, ACLs, encryption. At no
# moment can users who cannot read the realm read any of them.
source "$(dirname "$0")/lib.sh"

chmod 755 "$scratch"
point=$(new_directory mnt)
chmod 777 "$point"
# The files beside a realm: mode, owner, group, type and name.
beside() { (cd "$1" && find . -mindepth 1 ! -name x.realm ! -name 'key*' -printf '%m %U:%G %y %f\n' | sort -k4); }
released() { wait_until 10 is_free "$1"; }
is_free() { ! grep -q ":$(stat -c %i "$1.lock") " /proc/locks; }

# Fails if anything appears in FOLDER that others can read, write or enter: checks each new name at once.
cat >"$scratch/guard.py" <<'PY'
import ctypes, os, stat, struct, sys
folder, mask, log = sys.argv[1], int(sys.argv[2], 8), open(sys.argv[3], "w")
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(0)
libc.inotify_add_watch(watch, folder.encode(), 0x100 | 0x80 | 0x4)  # IN_CREATE, IN_MOVED_TO, IN_ATTRIB
print("watching", flush=True)
while True:
    events = os.read(watch, 1 << 16)
    while events:
        _, _, _, length = struct.unpack_from("iIII", events)
        name = events[16:16 + length].rstrip(b"\0").decode()
        events = events[16 + length:]
        try:
            mode = os.lstat(os.path.join(folder, name)).st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISLNK(mode) and mode & mask:
            print(f"{name} {mode & 0o777:o}", file=log, flush=True)
PY
# guarded FOLDER MASK: watches the folder until `unguarded`.
guarded() {
  rm -f "$scratch/watching" "$scratch/exposed"
  python3 "$scratch/guard.py" "$1" "$2" "$scratch/exposed" >"$scratch/watching" &
  guard=$!
  background+=("$guard")
  wait_until 10 grep -q watching "$scratch/watching"
}
unguarded() {
  sleep 0.1
  kill "$guard" && wait "$guard" 2>/dev/null
  equal "$1" "" "$(cat "$scratch/exposed")"
}

# everything FOLDER [COMMAND-PREFIX]...: all operations that create files beside a realm.
everything() {
  local folder=$1 realm=$1/x.realm
  shift
  "$@" "$realmfs" mount -o trust_owner "$realm" "$point" || return 1
  "$@" sh -c "echo '{\"age\": 1}' >'$point/Person/4.json'" || return 2
  "$@" sh -c "echo 1 >'$point/.realm/compact'" || return 3
  "$@" "$realmfs" umount "$point" || return 4
  released "$realm"
  "$@" "$realmfs" compact "$realm" >/dev/null || return 5
  "$@" "$realmfs" backup "$realm" "$folder/backup.realm" >/dev/null || return 6
  "$@" "$realmfs" encrypt --key-file "$key_file" "$realm" >/dev/null || return 7
  "$@" "$realmfs" decrypt --key-file "$key_file" "$realm" >/dev/null || return 8
  "$@" "$realmfs" mount -o trust_owner --schema "$scratch/schema.json" --migrate 'ls "$REALMFS_OLD" "$REALMFS_NEW"' "$realm" "$point" \
    >/dev/null || return 9
  "$@" "$realmfs" umount "$point" || return 10
  released "$realm"
}
"$realmfs" schema "$fixtures/people.realm" | jq '.schemaVersion = 100' >"$scratch/schema.json"

# ---- a private realm, whatever the umask ----

for mask in 0000 0022 0077; do
  folder=$(new_directory "private-$mask")
  cp "$fixtures/people.realm" "$folder/x.realm"
  chmod 755 "$folder"
  chmod 600 "$folder/x.realm"
  guarded "$folder" 077
  umask $mask
  check "umask $mask: everything works on a private realm" everything "$folder"
  umask 0022
  unguarded "umask $mask: at no moment was there anything that others can use"
  equal "umask $mask: the files beside it are private too" \
    "600 x.realm.lock|700 x.realm.management|600 backup.realm" \
    "$(cd "$folder" && stat -c '%a %n' x.realm.lock x.realm.management backup.realm | paste -sd'|')"
  equal "umask $mask: the realm stays private" 600 "$(stat -c %a "$folder/x.realm")"
  rm "$folder/backup.realm"
done

folder=$(new_directory open)
cp "$fixtures/people.realm" "$folder/x.realm"
chmod 755 "$folder"
chmod 664 "$folder/x.realm"
(umask 0077 && "$realmfs" mount "$folder/x.realm" "$point" && "$realmfs" umount "$point")
equal "umask 0077 does not shut out who may use the realm" "664 x.realm.lock|775 x.realm.management" \
  "$(cd "$folder" && stat -c '%a %n' x.realm.lock x.realm.management | paste -sd'|')"
folder=$(new_directory closed)
cp "$fixtures/people.realm" "$folder/x.realm"
chmod 700 "$folder"
chmod 664 "$folder/x.realm"
"$realmfs" mount "$folder/x.realm" "$point" && "$realmfs" umount "$point"
equal "who cannot enter the folder gets no rights in it" "600 x.realm.lock|700 x.realm.management" \
  "$(cd "$folder" && stat -c '%a %n' x.realm.lock x.realm.management | paste -sd'|')"
cp "$fixtures/made-v22.realm" "$folder/old.realm" 2>/dev/null ||
  cp "$(find "$shared/fixtures/sdk" -name 'v22*.realm' ! -name '*encrypted*' 2>/dev/null | sort | head -1)" "$folder/old.realm" 2>/dev/null
if [ -f "$folder/old.realm" ]; then
  chmod 600 "$folder/old.realm"
  chmod 755 "$folder"
  guarded "$folder" 077
  check "upgrade" "$realmfs" upgrade "$folder/old.realm"
  unguarded "an upgrade and its backup expose nothing"
  equal "the backup is as private as the realm" 600 "$(stat -c %a "$folder"/old.v22.backup.realm)"
fi

# ---- other users: root beside an app, an app beside root, groups ----

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  app=(setpriv --reuid=61001 --regid=61001 --groups=61100)
  group=(setpriv --reuid=61002 --regid=61002 --groups=61100)
  nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 755 "$scratch"
  folder=$(new_directory app)
  cp "$fixtures/people.realm" "$folder/x.realm"
  chown -R 61001:61001 "$folder"
  chmod 700 "$folder"
  chmod 600 "$folder/x.realm"
  check "root uses an app's realm" everything "$folder"
  equal "what root made belongs to the app" "" "$(find "$folder" ! -uid 61001 -o ! -gid 61001)"
  check "so the app can use it" "${app[@]}" "$realmfs" cat "$folder/x.realm" Dog
  check "and write" "${app[@]}" "$realmfs" import --class Dog "$folder/x.realm" - </dev/null

  folder=$(new_directory shared)
  cp "$fixtures/people.realm" "$folder/x.realm"
  chown -R 61001:61100 "$folder"
  chmod 2770 "$folder"
  chmod 660 "$folder/x.realm"
  for who in group app; do
    declare -n user=$who
    check "a member of the group, in a setgid folder with umask 0077 ($who)" \
      "${user[@]}" sh -c "umask 0077; '$realmfs' import --class Dog '$folder/x.realm' - </dev/null"
  done
  equal "the group can use what the other made" "660 61100 x.realm.lock|2770 61100 x.realm.management" \
    "$(cd "$folder" && stat -c '%a %g %n' x.realm.lock x.realm.management | paste -sd'|')"
  chmod g-s "$folder"
  rm -r "$folder"/x.realm.*
  check "without setgid too" "${group[@]}" "$realmfs" import --class Dog "$folder/x.realm" - </dev/null
  equal "because the group is the realm's" "660 61100 x.realm.lock" \
    "$(cd "$folder" && stat -c '%a %g %n' x.realm.lock)"

  folder=$(new_directory foreign)
  cp "$fixtures/people.realm" "$folder/x.realm"
  chmod 777 "$folder"
  chmod 666 "$folder/x.realm"
  chown 61001:61100 "$folder/x.realm"
  check "somebody who is not in the realm's group" "${nobody[@]}" "$realmfs" import --class Dog "$folder/x.realm" - </dev/null
  equal "gives no rights to another group" "606 65534 65534 x.realm.lock" \
    "$(cd "$folder" && stat -c '%a %u %g %n' x.realm.lock)"

  folder=$(new_directory forbidden)
  cp "$fixtures/people.realm" "$folder/x.realm"
  chmod 755 "$folder"
  chmod 666 "$folder/x.realm"
  check_status "a folder that forbids files names file, call, errno and remedy" 3 \
    "x.realm.lock: open: Permission denied; changes need permission to create files in its folder" "${nobody[@]}" "$realmfs" import --class Dog "$folder/x.realm" -
  check_status "mount says how to read it all the same" 3 "x.realm.lock.*--immutable mounts it" \
    "${nobody[@]}" "$realmfs" mount "$folder/x.realm" "$(new_directory empty)"
  check "and it can be read" "${nobody[@]}" "$realmfs" cat "$folder/x.realm" Dog
else
  skip "other users: not root"
fi

# ---- ACLs ----

folder=$(new_directory acl)
cp "$fixtures/people.realm" "$folder/x.realm"
chmod 750 "$folder"
if setfacl -d -m u:61003:rw,g::r,o::- "$folder" 2>/dev/null; then
  cp "$fixtures/people.realm" "$folder/x.realm.new" && mv "$folder/x.realm.new" "$folder/x.realm"
  check "everything works in a folder with a default ACL" everything "$folder"
  for name in x.realm.lock backup.realm x.realm; do
    check "$name has it" grep -q '^user:61003:rw-$' <(getfacl -pnE "$folder/$name" 2>/dev/null)
    equal "$name is closed to others" "other::---" "$(getfacl -pnE "$folder/$name" 2>/dev/null | grep '^other')"
  done
  check "x.realm.management hands it on" grep -q '^default:user:61003:rw-$' <(getfacl -pnE "$folder/x.realm.management")
  setfacl -b "$folder/x.realm" && chmod 600 "$folder/x.realm"
  "$realmfs" compact "$folder/x.realm" >/dev/null
  equal "a private realm gets no ACL by being compacted" "" "$(getfacl -pnE "$folder/x.realm" | grep 61003)"
else
  skip "default ACLs: setfacl is missing or the file system has none"
fi

# ---- an encrypted folder ----

image=$scratch/disk.img
disk=$(new_directory disk)
fscrypt() { python3 "$repository/Tests/e2e/fscrypt.py" "$@"; }
on_fscrypt() {
  [ "$(id -u)" -eq 0 ] && command -v mkfs.ext4 >/dev/null || return 1
  truncate -s 64M "$image" && mkfs.ext4 -q -O encrypt "$image" && mount -o loop "$image" "$disk" || return 1
  head -c 64 /dev/urandom >"$scratch/fskey"
  mkdir "$disk/locked" && fscrypt encrypt "$disk/locked" "$scratch/fskey"
}
if on_fscrypt 2>"$scratch/fscrypt.log"; then
  folder=$disk/locked
  cp "$fixtures/people.realm" "$folder/x.realm"
  check "everything works in an encrypted folder" everything "$folder"
  wanted=$(fscrypt policy "$folder")
  for name in x.realm x.realm.lock x.realm.management backup.realm; do
    equal "$name has the folder's policy" "$wanted" "$(fscrypt policy "$folder/$name")"
  done
  check "a mount" "$realmfs" mount "$folder/x.realm" "$point"
  check "shows the realm" test -s "$point/Person/4.json"
  "$realmfs" umount "$point"
  released "$folder/x.realm"
  sync
  echo 2 >/proc/sys/vm/drop_caches
  check "lock" fscrypt lock "$folder"
  check_status "a locked folder: reading" 3 "x.realm: open: .*ENOKEY.*locked; unlock it" "$realmfs" cat "$folder/x.realm" Dog
  check_status "a locked folder: mounting" 3 "x.realm: open: .*ENOKEY.*locked; unlock it" \
    "$realmfs" mount "$folder/x.realm" "$point"
  check_status "a locked folder: making a realm" 3 "ENOKEY|Required key" \
    "$realmfs" mount --schema "$scratch/schema.json" "$folder/new.realm" "$point"
  check "unlock" fscrypt unlock "$folder" "$scratch/fskey"
  check "then it is there again" "$realmfs" cat "$folder/x.realm" Dog
  umount "$disk"
else
  skip "an encrypted folder: $(tail -1 "$scratch/fscrypt.log" | grep . || echo "not root, or no mkfs.ext4")"
  umount "$disk" 2>/dev/null
fi
