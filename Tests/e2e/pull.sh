#!/usr/bin/env bash
# `realmfs pull`: downloads a realm of a sync server, continues an interrupted download, and reports every failure.
source "$(dirname "$0")/sync_lib.sh"

cd "$scratch" || exit 1
start_server 50
tell message 1000

"$realmfs" pull --json "$url" out.realm >report 2>errors
equal "pull" "0 51 $url $scratch/out.realm 14" "$? $(jq -r '"\(.version) \(.url) \(.file) \(.protocolVersion)"' report)"
equal "and nothing else is said" "" "$(cat errors)"
equal "the objects are there" 50 "$("$realmfs" query --count out.realm P)"
check "the file is sound" "$realmfs" check out.realm
"$realmfs" info --json out.realm >info
equal "info knows the mirror" "$url true 51 2 null" \
  "$(jq -r '.sync | "\(.url) \(.complete) \(.version) \(.readerFile) \(.refused)"' info)"
check_status "in words" 0 "mirror of +$url" "$realmfs" info out.realm
check_status "and that it is complete" 0 'server version +51 of 51, complete' "$realmfs" info out.realm
check_status "a mirror is not written" 1 "its sync client may write" "$realmfs" set out.realm P/1 i=7
check "a local copy of it is" "$realmfs" convert --local out.realm own.realm
check "and knows no server" bash -c '"$1" set own.realm P/1 i=7 && "$1" info --json own.realm | jq -e ".sync == null"' - "$realmfs"

tell add 50 51
"$realmfs" pull --json "$url" out.realm >report
equal "a second one downloads what is new" "53 true" "$(jq -r '"\(.version) \(.downloadedBytes < 2000)"' report)"
tell cut 3000
check_status "a connection that is cut" 0 "version 53 of $url" "$realmfs" pull "$url" cut.realm
check "gives the same" bash -c 'diff <("$1" cat out.realm P) <("$1" cat cut.realm P)' - "$realmfs"

# The token is not passed as an argument, and is read again for each connection.
echo secret-1 >token
check "--token-file" "$realmfs" pull -q --token-file token "$url" out.realm
equal "the server gets it" "GET /realm-sync?baas_at=secret-1 HTTP/1.1" "$(tell request)"
check "--token-command" "$realmfs" pull -q --token-command 'echo secret-2' "$url" out.realm
equal "the server gets that" "GET /realm-sync?baas_at=secret-2 HTTP/1.1" "$(tell request)"
check_status "a command that fails" 12 'token command ended with status 3' "$realmfs" pull --token-command 'exit 3' "$url" out.realm
check_status "a file that is not there" 12 'token file .*/none: No such file' "$realmfs" pull --token-file none "$url" out.realm
check_status "~ is the user" 0 "realm://127.0.0.1:$port/anna/test" "$realmfs" pull --user anna "realm://127.0.0.1:$port/~/test" anna.realm

# If a download is impossible: the reason, and no file.
before=$(ls -A)
absent=realm://127.0.0.1:1/test
check_status "~ without a user" 2 "name it with --user" "$realmfs" pull "realm://127.0.0.1:$port/~/test" none.realm
check_status "no server" 12 'cannot connect to 127.0.0.1:1: Connection refused; gave up after 1 s' \
  "$realmfs" pull --timeout 1 "$absent" none.realm
"$realmfs" pull --timeout 600 "$absent" none.realm 2>silent >/dev/null &
pull=$!
background+=("$pull")
check "it is reported at once, not at the end" wait_until 60 grep -q 'Connection refused; trying again, for up to 600 s' silent
kill -TERM $pull
wait $pull 2>/dev/null
rm -rf silent none.realm*
tell habit forgets
check_status "a server that knows no client" 12 'error 208: text; it answers the same to a new client, too' \
  "$realmfs" pull "$url" none.realm
check_status "nor one that it knew" 12 'to a new client, too' "$realmfs" pull "$url" out.realm
tell habit goes-back
check_status "a server that goes back" 12 'version 0 after version' "$realmfs" pull "$url" none.realm
for habit in pings empties nothing-new; do
  tell habit $habit
  check_status "a server with $habit" 12 'gave up after 2 s' timeout 100 "$realmfs" pull --timeout 2 "$url" never.realm
done
tell habit none
rm -rf none.realm* never.realm*
check_status "a host that nobody knows" 12 'no-host.invalid: no address' \
  "$realmfs" pull --timeout 1 realm://no-host.invalid/test none.realm
tell error 204
check_status "a path that the server refuses" 2 'error 204' "$realmfs" pull "$url" none.realm
rm -rf none.realm*
tell error 226
check_status "a server of Flexible Sync" 12 'Flexible Sync.*partition-based sync' "$realmfs" pull "$url" none.realm
check_status "the address of a closed service" 12 'Atlas Device Sync was closed in 2025.*realm://' \
  "$realmfs" pull https://services.cloud.mongodb.com none.realm
check_status "of another one" 12 'Realm Cloud, which was closed; use partition-based sync' \
  "$realmfs" pull realms://notes.us1.cloud.realm.io/~/notes --user anna none.realm
check_status "no address" 2 'expected realm://HOST:PORT/PATH' "$realmfs" pull notes none.realm
check_status "a password in the address" 2 '/\.\.\.@.*must not contain a user or password' "$realmfs" pull realm://me:secret@host/x none.realm
check_status "a time that is none" 2 'not a number of seconds' "$realmfs" pull --timeout soon "$url" none.realm
check_status "a realm that is no mirror" 8 'not a mirror of a synced realm' "$realmfs" pull "$url" "$(copy_fixture people)"
check_status "a mirror of another realm" 8 "a mirror of $url, not of $absent" "$realmfs" pull "$absent" out.realm
rm -rf people.realm* none.realm*
equal "and no file is left" "$before" "$(ls -A)"

# Ctrl-C in the middle: the file is a version of the server's history, and the next pull continues.
tell message 1
# shellcheck disable=SC2046
tell add $(seq 100 3000)
has_begun() { [ "$("$realmfs" info --json long.realm 2>/dev/null | jq '.sync.version // 0')" -gt 100 ]; }
env --default-signal=INT "$realmfs" pull "$url" long.realm >long.out 2>&1 &
pull=$!
background+=("$pull")
check "a long download begins" wait_until 20 has_begun
check_status "another one is refused" 8 "keeps the mirror up to date" "$realmfs" pull "$url" long.realm
kill -INT $pull
wait $pull
equal "Ctrl-C ends it" 130 $?
equal "the file is incomplete" false "$("$realmfs" info --json long.realm | jq .sync.complete)"
check "and sound" "$realmfs" check long.realm
version=$("$realmfs" info --json long.realm | jq .sync.version)
equal "at a version of the server" $((version - 1)) "$("$realmfs" query --count long.realm P)"
equal "nothing else is left" "long.out long.realm long.realm.lock long.realm.management" "$(echo long*)"
for pause in 0.05 0.1 0.2 0.3; do
  "$realmfs" pull -q "$url" killed.realm &
  pull=$!
  wait_until 60 test -e killed.realm
  sleep $pause
  { kill -KILL $pull && wait $pull; } 2>/dev/null
  check "killed, it is sound" "$realmfs" check killed.realm
done
check "and goes on to the end" "$realmfs" pull -q "$url" killed.realm
equal "where all is there" 2953 "$("$realmfs" query --count killed.realm P)"
check "with progress on a terminal" bash -c 'script -qec "\"$1\" pull \"$2\" shown.realm" /dev/null | grep -q "downloading: .*%"' - "$realmfs" "$url"
tell message 1000000
"$realmfs" pull --json "$url" long.realm >report
equal "the next one goes on" "true 2953" "$(jq ".downloadedBytes < (2954 - $version) * 600" report) $("$realmfs" query --count long.realm P)"
env --default-signal=INT "$realmfs" pull "$absent" never.realm >never.out 2>&1 &
pull=$!
wait_until 20 test -s never.realm && sleep 0.5 && kill -INT $pull
wait $pull
equal "Ctrl-C before there was a server leaves nothing" "130 never.out" "$? $(echo never*)"

# The server has lost its data: a new copy replaces the file.
tell wipe 3
check "a server that forgot" "$realmfs" pull -q "$url" long.realm
equal "has what the server has now" "3 long.out long.realm long.realm.lock long.realm.management" \
  "$("$realmfs" query --count long.realm P) $(echo long*)"
check "and is sound" "$realmfs" check long.realm

# A full disk in the middle of a download.
mkdir disk
if mount -t tmpfs -o size=600k tmpfs disk 2>/dev/null; then
  end_server
  start_server 5000
  tell message 5000
  check_status "a full disk" 1 'No space left on device' "$realmfs" pull "$url" disk/out.realm
  check "what is there is sound" "$realmfs" check disk/out.realm
  mount -o remount,size=16m disk
  check "with space the same goes on" "$realmfs" pull -q "$url" disk/out.realm
  equal "and is whole" 5000 "$("$realmfs" query --count disk/out.realm P)"
else
  skip "a file system of its own needs root"
fi

# TLS, by a proxy in front of the server.
certificate() {
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.pem" -subj "/CN=$1" -days 2 \
    -addext "subjectAltName=$2" 2>/dev/null
}
proxy() {
  exec {from_proxy}< <(exec python3 "$repository/Tests/RealmSyncTests/tls_proxy.py" "$1.pem" "$1.key" "$port")
  background+=($!)
  read -r tls_port <&$from_proxy
}
certificate right DNS:localhost
certificate other DNS:sync.example.org
proxy right
check "realms:// with --ca-file" "$realmfs" pull -q --ca-file right.pem "realms://localhost:$tls_port/test" tls.realm
equal "gives the same" 5000 "$("$realmfs" query --count tls.realm P)"
check_status "an authority that nobody trusts" 12 'not trusted for localhost.*--ca-file' \
  "$realmfs" pull "realms://localhost:$tls_port/test" none.realm
check_status "realm:// at a port with TLS" 12 "localhost:$tls_port: .*gave up after 1 s" \
  "$realmfs" pull --timeout 1 "realm://localhost:$tls_port/test" none.realm
proxy other
check_status "the certificate of another host" 12 'not trusted for localhost: hostname mismatch' \
  "$realmfs" pull --ca-file other.pem "realms://localhost:$tls_port/test" none.realm
python3 -c '
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True: server.accept()[0].sendall(b"SSH-2.0-Other\r\n")' >other_port &
background+=($!)
wait_until 20 test -s other_port
check_status "a server of something else" 12 'does not answer like a sync server' \
  "$realmfs" pull --timeout 20 "realm://127.0.0.1:$(cat other_port)/test" none.realm
check_status "a folder that is not there" 3 '/nowhere: no such folder' "$realmfs" pull "$url" /nowhere/none.realm
equal "none of them left a file" "none.realm*" "$(echo none.realm*)"
umount disk 2>/dev/null
exit 0
