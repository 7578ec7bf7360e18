#!/usr/bin/env bash
# The realm file is truncated while it is mounted: reads fail with EIO, the process survives, and the mount can be ended.
source "$(dirname "$0")/lib.sh"

point=$(new_directory mnt)
for size in 0 100 4096 100000; do
  file=$(copy_fixture strings)
  serve "$file" "$point" || exit 0
  class=$(find "$point" -mindepth 1 -maxdepth 1 | head -1)
  ls "$class" >/dev/null
  cat "$(find "$class" -type f | head -1)" >/dev/null
  names=$(find "$class" -type f | tail -60)
  truncate -s $size "$file"
  errors=$(xargs -d '\n' cat <<<"$names" 2>&1 >/dev/null | sed 's/.*: //' | sort -u | paste -sd,)
  case $errors in
    "Input/output error" | "" | "Input/output error,Stale file handle") ok "cut to $size bytes: ${errors:-nothing needed what is gone}" ;;
    *) not_ok "cut to $size bytes: errors are '$errors'" ;;
  esac
  timeout 20 ls -R "$point" >/dev/null 2>&1
  if [ $? -eq 124 ]; then not_ok "cut to $size bytes: a listing hangs"; else ok "cut to $size bytes: a listing ends"; fi
  check "cut to $size bytes: the process lives" kill -0 "$server"
  cp "$fixtures/strings.realm" "$scratch/whole" && mv "$scratch/whole" "$file"
  equal "cut to $size bytes: a whole file in its place is readable again" "$(wc -l <<<"$names")" \
    "$(xargs -d '\n' cat <<<"$names" 2>/dev/null | jq -c . | wc -l)"
  check "cut to $size bytes: umount" "$realmfs" umount "$point"
  wait "$server"
  equal "cut to $size bytes: exit status" 0 $?
done

# The commands on a truncated file.
head -c 100000 "$fixtures/strings.realm" >"$scratch/cut.realm"
for command in info schema check; do
  "$realmfs" $command "$scratch/cut.realm" >"$scratch/out" 2>&1
  status=$?
  if [ $status -eq 4 ] && [ -s "$scratch/out" ]; then ok "$command of a cut file: exit 4"; else
    not_ok "$command of a cut file: status $status: $(head -c 300 "$scratch/out")"; fi
done
