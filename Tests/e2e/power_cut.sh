#!/usr/bin/env bash
# A power cut right after a command: the file that it reported exists and is complete. The disk is an ext4 image, which is
# shut down without writing data that is only in memory.
source "$(dirname "$0")/lib.sh"

disk=$(new_directory disk) image=$scratch/memory/image
# In memory, where syncs are fast.
mkdir "$scratch/memory"
if ! mount -t tmpfs tmpfs "$scratch/memory" 2>/dev/null || ! truncate -s 256M "$image" ||
  ! mkfs.ext4 -q -F "$image" 2>/dev/null || ! mount -o loop "$image" "$disk" 2>/dev/null; then
  skip "a power cut needs root, mkfs.ext4 and a loop device"
  exit
fi

# The disk loses unsynced data, and is mounted again. Fails if it cannot be shut down.
cut_power() {
  # EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH
  python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack("I", 2))' "$disk" || return
  umount "$disk" && mount -o loop "$image" "$disk"
}

echo lost >"$disk/unsynced"
cut_power || { not_ok "the disk cannot be shut down"; exit; }
check "a file that nobody synced is lost" test ! -s "$disk/unsynced"

# Few files are synced individually, many by syncing the file system.
for file in people items-10k; do
  for format in json jsonl csv sqlite; do
    # CSV of several classes is a directory, which has no suffix.
    name=$file.$format
    [ $format = csv ] && name=$file-csv
    "$realmfs" export --format $format "$fixtures/$file.realm" "$scratch/memory/$name" &&
      "$realmfs" export --format $format "$fixtures/$file.realm" "$disk/$name" ||
      not_ok "export $file as $format"
    cut_power || not_ok "power cut"
    check "$file as $format" diff -r "$scratch/memory/$name" "$disk/$name"
  done
done
mkdir "$disk/vacant" && sync -f "$disk/vacant"
"$realmfs" export --format csv "$fixtures/people.realm" "$disk/vacant"
cut_power || not_ok "power cut"
check "in place of an empty directory" diff -r "$scratch/memory/people-csv" "$disk/vacant"

"$realmfs" schema "$fixtures/people.realm" >"$scratch/schema.json"
"$realmfs" create --schema "$scratch/schema.json" "$disk/new.realm"
cut_power || not_ok "power cut"
equal "create: the schema" "$(cat "$scratch/schema.json")" "$("$realmfs" schema "$disk/new.realm")"
equal "create: a file with one name" "1" "$(stat -c %h "$disk/new.realm")"
before=$("$realmfs" export "$fixtures/people.realm" | sha256sum)
after() { "$realmfs" export "$@" | sha256sum; }
"$realmfs" backup "$fixtures/people.realm" "$disk/backup.realm"
cut_power || not_ok "power cut"
equal "backup" "$before" "$(after "$disk/backup.realm")"
"$realmfs" compact "$disk/backup.realm"
cut_power || not_ok "power cut"
equal "compact" "$before" "$(after "$disk/backup.realm")"
"$realmfs" encrypt --key-file "$key_file" "$disk/backup.realm"
cut_power || not_ok "power cut"
equal "encrypt" "$before" "$(after --key-file "$key_file" "$disk/backup.realm")"
"$realmfs" recover "$fixtures/people.realm" "$disk/recovered.realm" >/dev/null
cut_power || not_ok "power cut"
check "recover" "$realmfs" check "$disk/recovered.realm"
umount "$disk" "$scratch/memory"
