#!/usr/bin/env bash
# A mount that ends while programs are still writing: complete texts are saved, incomplete ones are reported in the log.
source "$(dirname "$0")/lib.sh"

file=$scratch/people.realm
point=$(new_directory mnt)
cp "$fixtures/people.realm" "$file"
for signal in TERM INT HUP; do
  serve "$file" "$point" || exit
  python3 - "$point/Person" "$signal" "$server" <<'PYTHON'
import os, select, signal, sys
folder, name, server = sys.argv[1], sys.argv[2], int(sys.argv[3])
for file, text in [("4", '{"name": "whole %s"}'), ("5", '{"name": "half %s'), ("600", '{"name": "new %s"}')]:
  # The text is not saved before it is closed.
  os.write(os.open(f"{folder}/{file}.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), (text % name).encode())
descriptor = os.pidfd_open(server)
os.kill(server, getattr(signal, "SIG" + name))
select.select([descriptor], [], [], 20)
PYTHON
  wait "$server" 2>/dev/null
  log=$(cat "$scratch/server.log")
  # The mount has ended, so close fails.
  { exec 7>&- 8>&- 9>&-; } 2>/dev/null
  equal "SIG$signal: a whole text is saved" "whole $signal" "$("$realmfs" cat "$file" Person/4.json | jq -r .name)"
  equal "a new object too" "new $signal" "$("$realmfs" cat "$file" Person/600.json | jq -r .name)"
  equal "half a text changes nothing" "$("$realmfs" cat "$fixtures/people.realm" Person/5.json)" \
    "$("$realmfs" cat "$file" Person/5.json)"
  case $log in
    *Person/5.json*"was still being written could not be saved"*) ok "and is told to the log" ;;
    *) not_ok "the log does not tell of half a text: $log" ;;
  esac
  check "the file is sound" "$realmfs" check "$file"
done
