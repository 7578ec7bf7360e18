#!/usr/bin/env bash
# `realmfs mcp`: a client over the plain protocol finds, changes and undoes, reads long answers in parts, and gets an
# error for everything that is wrong; several files, encrypted ones, and a realm that other programs have open.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
copy_fixture people >"$scratch/names"
copy_fixture people-encrypted >>"$scratch/names"
check_status "standard input cannot be both the messages and the key" 2 'cannot be both' \
  "$realmfs" mcp --key-file - people-encrypted.realm
check_status "a missing file is reported at once" 3 'No such file' "$realmfs" mcp people.realm missing.realm
check_status "a missing key is reported at once" 5 'looks encrypted' "$realmfs" mcp people-encrypted.realm
check_status "a file is served once" 2 'given twice' "$realmfs" mcp people.realm people.realm
timeout 200 python3 "$repository/Tests/e2e/mcp.py" "$realmfs" "$key_file" || not_ok "the client ended with status $?"

# The realm is open in a mount, which sees what the agent changes.
point=$(new_directory point)
serve people.realm "$point"
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"set","arguments":
{"object":"Dog/Rex","values":{"weight":7.25}}}}' | tr -d '\n' | "$realmfs" mcp --write people.realm >answer
equal "a mount shows a change" 7.25 "$(jq .weight "$point/Dog/Rex.json")"
echo '{"weight": 8.5}' >"$point/Dog/Rex.json"
echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{"object":"Dog/Rex"}}}' |
  "$realmfs" mcp people.realm | jq -r '.result.content[0].text' >answer
equal "a call reads what the mount saved" 8.5 "$(jq .value.weight answer)"
stop_server "$point"
check "the file is sound" "$realmfs" check people.realm
