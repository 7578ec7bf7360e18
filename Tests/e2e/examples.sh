#!/usr/bin/env bash
# The examples that `realmfs help COMMAND` ends with are run: each command's in a directory with the sample realms.
source "$(dirname "$0")/lib.sh"

mkdir "$scratch/tools" && ln -s "$(realpath "$realmfs")" "$scratch/tools/realmfs"
export PATH=$scratch/tools:$PATH
for command in $("$realmfs" --help | sed -n 's/^  realmfs \([a-z]*\) .*/\1/p' | sort -u); do
  work=$(new_directory "work-$command")
  cp "$fixtures"/*.realm "$fixtures/encrypted.key.hex" "$work" && chmod 600 "$work"/*
  cd "$work" || exit 1
  "$realmfs" help "$command" | sed '1,/^Examples:$/d' | sed 's/^  //' >lines
  while IFS= read -r line; do
    output=$(timeout 60 bash -c "$line" 2>&1 </dev/null)
    status=$?
    if [ $status -eq 0 ]; then ok "$line"; else not_ok "$line: status $status: ${output:0:300}"; fi
  done <lines
done
