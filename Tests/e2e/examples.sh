#!/usr/bin/env bash
# Runs the examples at the end of `realmfs help COMMAND`, in a directory with the sample realms and the files that the
# examples name. A command without examples fails.
source "$(dirname "$0")/lib.sh"

mkdir "$scratch/tools" && ln -s "$(realpath "$realmfs")" "$scratch/tools/realmfs"
export PATH=$scratch/tools:$PATH

# prepare COMMAND: creates the files that the examples of the command need in the current directory.
prepare() {
  case $1 in
    mount) mkdir people secret notes ;;
    umount) mkdir people && realmfs mount people.realm people ;;
    tx)
      mkdir people && realmfs mount people.realm people
      printf '#!/bin/sh\nsed -i s/Person/Friend/ Person/4.json Person/11.json\n' >fix-everything.sh
      chmod +x fix-everything.sh
      ;;
    import)
      printf 'name,weight\nLaika,5\n' >Dog.csv
      printf '_id;name\n4;J\xf6rg\n' >Person.csv
      realmfs export --quiet people.realm shop.sqlite
      mkdir many && printf '{"name":"Balto"}\n' >many/Dog.jsonl
      ;;
    diff) cp people.realm monday.realm && realmfs set --quiet people.realm Person/4 age=99 ;;
    merge)
      cp people.realm monday.realm && cp people.realm phone.realm
      realmfs set --quiet people.realm Person/4 age=99 && realmfs set --quiet phone.realm Person/4 name=Ann
      ;;
    upgrade) cp "$fixtures/old/v9-core-5.23.9.realm" old.realm ;;
    check) cp people.realm archive.realm && realmfs seal archive.realm >/dev/null ;;
    seal) cp people.realm archive.realm ;;
    verify-replica) realmfs export --quiet people.realm people.sqlite ;;
    recover) cp "$fixtures/damaged/export-loops-1.realm" damaged.realm ;;
  esac
}

# expected COMMAND LINE: the exit code of an example. Other scripts test watch and browse; here they end by the signal,
# as does a mount that waits for a missing server.
expected() {
  case "$1 $2" in
    diff*) echo 1 ;;
    "info realmfs info *.realm") echo 5 ;; # the realm secret.realm needs its key
    *--static*) echo 0 ;;
    watch* | browse* | *--sync*) echo 124 ;;
    recover*) echo 4 ;; # the file is damaged, so not everything is known to be saved
    pull*) echo 12 ;; # no server listens there
    replicate*) echo 1 ;; # likewise
    *) echo 0 ;;
  esac
}

for command in $("$realmfs" --help | sed -n 's/^  realmfs \([a-z-]*\).*/\1/p' | sort -u); do
  work=$(new_directory "work-$command")
  cp "$fixtures"/*.realm "$fixtures/encrypted.key.hex" "$work" && chmod 600 "$work"/*
  cd "$work" || exit 1
  mv people-encrypted.realm secret.realm && mv encrypted.key.hex key.hex
  prepare "$command"
  "$realmfs" help "$command" | sed '1,/^Examples:$/d' | sed 's/^  //' >lines
  [ -s lines ] || not_ok "$command: its help has no examples"
  while IFS= read -r line; do
    seconds=60
    [ "$(expected "$command" "$line")" -ne 124 ] || seconds=2
    output=$(timeout --signal=INT $seconds bash -c "$line" 2>&1 </dev/null)
    status=$?
    if [ $status -eq "$(expected "$command" "$line")" ]; then ok "$line"; else not_ok "$line: status $status: ${output:0:300}"; fi
  done <lines
done
cd "$scratch" || exit 1
for mount in work-mount/people work-mount/secret work-tx/people; do
  check "$mount is mounted" is_mounted "$scratch/$mount"
  check "umount $mount" realmfs umount "$mount"
done
check "the example of umount ended its mount" is_not_mounted "$scratch/work-umount/people"
