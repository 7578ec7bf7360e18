#!/usr/bin/env bash
# df shows the size of the realm file as used space, and the free space of its file system.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture strings)
point=$(new_directory mnt)
"$realmfs" mount "$file" "$point" || not_ok "mount"
numbers() { python3 -c '
import os, sys
s = os.statvfs(sys.argv[1])
print(s.f_frsize * (s.f_blocks - s.f_bfree), s.f_namemax, s.f_flag & os.ST_RDONLY, s.f_bavail > 0, s.f_files >= s.f_ffree)' "$1"; }
equal "used bytes, longest name, writable" "$(stat -c %s "$file") 255 0 True True" "$(numbers "$point")"
equal "the same in a class" "$(numbers "$point")" "$(numbers "$(find "$point" -mindepth 1 -maxdepth 1 | head -1)")"
check "df" df "$point"
equal "du counts the bytes of the texts" "$(find "$point" -type f -printf '%s\n' | awk '{n += $1} END {print n}')" \
  "$(du -sb --apparent-size "$point" | cut -f1)"
"$realmfs" umount "$point" || not_ok "umount"
