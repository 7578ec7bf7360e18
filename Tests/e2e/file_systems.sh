#!/usr/bin/env bash
# Realms on other file systems: bind mounts, encrypted folders, Windows disks. The files beside a realm must work there,
# and written files must be complete.
source "$(dirname "$0")/lib.sh"

if [ "$(id -u)" -ne 0 ]; then
  skip "other file systems are mounted by root"
  exit
fi
printf 'secret' >"$scratch/password"

# place NAME: mounts a file system at $disk; fails if it is not available.
place() {
  local lower=$scratch/$1.lower
  mkdir -p "$lower"
  case $1 in
    bindfs) bindfs "$lower" "$disk" ;;
    gocryptfs) gocryptfs -q -init -passfile "$scratch/password" "$lower" && gocryptfs -q -passfile "$scratch/password" "$lower" "$disk" ;;
    fuse-overlayfs)
      mkdir -p "$lower"/{below,above,work}
      fuse-overlayfs -o "lowerdir=$lower/below,upperdir=$lower/above,workdir=$lower/work" "$disk"
      ;;
    ntfs-3g) truncate -s 64M "$lower/image" && mkntfs -Fq "$lower/image" && ntfs-3g "$lower/image" "$disk" ;;
    xfs) truncate -s 320M "$lower/image" && mkfs.xfs -q "$lower/image" && mount -o loop "$lower/image" "$disk" ;;
    btrfs) truncate -s 128M "$lower/image" && mkfs.btrfs -q "$lower/image" && mount -o loop "$lower/image" "$disk" ;;
  esac >"$scratch/log" 2>&1
}

for name in bindfs gocryptfs fuse-overlayfs ntfs-3g xfs btrfs; do
  disk=$(new_directory "disk-$name") point=$(new_directory "mnt-$name") file=$disk/people.realm
  if ! place "$name"; then
    not_ok "$name can be mounted: $(tail -1 "$scratch/log")"
    continue
  fi
  cp "$fixtures/people.realm" "$file"
  serve "$file" "$point" || continue
  count=$(find "$point/Person" -name '*.json' | wc -l)
  check "$name: an object is saved" bash -c 'echo "{\"age\": 77}" >"$1/Person/4.json"' - "$point"
  check "$name: objects are made" bash -c \
    'for i in {9100..9140}; do echo "{\"name\": \"n$i\"}" >"$1/Person/$i.json" || exit; done' - "$point"
  check "$name: and go" bash -c 'rm "$1"/Person/913?.json' - "$point"
  check "$name: another program shares the realm" "$realmfs" insert --quiet "$file" Dog '{"name": "Snoopy", "weight": 3}'
  check "$name: and is seen" wait_until 20 bash -c 'grep -q Snoopy "$1/Dog"/*.json' - "$point"
  check "$name: a snapshot" mkdir "$point/.realm/snapshots/before"
  check "$name: several changes in one commit" "$realmfs" tx "$point" -- bash -c 'rm Person/910?.json'
  check "$name: the snapshot goes" rmdir "$point/.realm/snapshots/before"
  check "$name: the mounted realm is compacted" bash -c 'echo 1 >"$1/.realm/compact"' - "$point"
  equal "$name: all objects are there" "$((count + 41 - 10 - 10))" "$(find "$point/Person" -name '*.json' | wc -l)"
  tree=$(cd "$point" && find Person Dog -type f -exec sha256sum {} + | sort)
  stop_server "$point"
  check "$name: the file is sound" "$realmfs" check "$file"
  check "$name: a command" "$realmfs" insert --quiet "$file" Dog '{"name": "Spike"}'
  check "$name: is taken back" "$realmfs" undo --quiet "$file"
  check "$name: compact" "$realmfs" compact "$file"
  check "$name: encrypt" "$realmfs" encrypt --key-file "$key_file" "$file"
  check "$name: decrypt" "$realmfs" decrypt --key-file "$key_file" "$file"
  check "$name: backup" "$realmfs" backup "$file" "$disk/backup.realm"
  check "$name: recover" "$realmfs" recover "$file" "$disk/recovered.realm"
  serve "$disk/backup.realm" "$point" --immutable || continue
  equal "$name: the tree of the backup" "$tree" "$(cd "$point" && find Person Dog -type f -exec sha256sum {} + | sort)"
  stop_server "$point"
  equal "$name: nothing else is left" "backup.realm people.realm recovered.realm" \
    "$(cd "$disk" && find . -maxdepth 1 -type f ! -name '*.lock' ! -name '*.note' -printf '%f\n' | sort | xargs)"
  umount "$disk"
done

# A file system shared with other machines, whose writes are not noticed.
disk=$(new_directory disk-sshfs) file=$disk/people.realm point=$(new_directory mnt-sshfs)
mkdir "$scratch/sshfs" && bindfs -o subtype=sshfs "$scratch/sshfs" "$disk"
cp "$fixtures/people.realm" "$file"
shared='a shared file system \(fuse.sshfs\)'
equal "who writes there is warned" 1 "$("$realmfs" insert "$file" Dog '{"name": "Spike"}' 2>&1 >"$scratch/out" | grep -cE "$shared")"
equal "who reads is not" 0 "$("$realmfs" info "$file" 2>&1 | grep -cE "$shared")"
equal "nor who writes elsewhere" 0 "$("$realmfs" insert "$scratch/sshfs/people.realm" Dog '{"name": "Rex"}' 2>&1 | grep -cE "$shared")"
serve "$file" "$point" && equal "nor is a mount silent" 1 "$(grep -cE "$shared" "$scratch/server.log")"
