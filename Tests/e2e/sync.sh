#!/usr/bin/env bash
# `realmfs mount --sync`: changes by others arrive, saves reach the server once, and refusals have a reason.
source "$(dirname "$0")/sync_lib.sh"

cd "$scratch" || exit 1
start_server 50
point=$(new_directory mnt) other=$(new_directory other)
mirror=$scratch/mirror.realm

# All objects are visible, and so are changes.
serve_synced "$url" "$point" --mirror "$mirror" --timeout 20 || exit
equal "the objects are there" "50 7" "$(ls "$point/P" | wc -l) $(jq .i "$point/P/7.json")"
equal "sync.json" "$url $mirror live true 51 true 14 null" \
  "$(state '"\(.url) \(.mirror) \(.state) \(.complete) \(.version) \(.canSave) \(.protocolVersion) \(.error)"')"
equal "info.json, too" "$url live 50" "$(jq -r '"\(.sync.url) \(.sync.state) \(.classes.P.objects)"' "$point/.realm/info.json")"
tell add 50
check "what another client makes comes" wait_until 20 test -e "$point/P/50.json"

# Saves.
equal "a save" "" "$(write "$point/P/7.json" '{"_id": 7, "i": 70, "s": "mine"}')"
equal "is on the server when close returns" 1 "$(tell uploads)"
equal "and shows" 70 "$(jq .i "$point/P/7.json")"
equal "the same text again is no change" " 1" "$(write "$point/P/7.json" "$(cat "$point/P/7.json")") $(tell uploads)"
mkdir "$point/.realm/tx/a"
for key in 1 2 3; do jq -c '.i += 1000' "$point/P/$key.json" >"$scratch/text" && cat "$scratch/text" >"$point/.realm/tx/a/P/$key.json"; done
touch "$point/.realm/tx/a/.commit"
equal "several files in one change" "2 1001 1002 1003" "$(tell uploads) $(cd "$point/P" && jq -r .i 1.json 2.json 3.json | paste -sd' ')"
rm "$point/P/4.json"
equal "a removal" 3 "$(tell uploads)"
mirror_server=$server
serve_synced "$url" "$other" --mirror "$scratch/second.realm" || exit
equal "another mount shows all of it" "50 70 1002" "$(ls "$other/P" | wc -l) $(jq -r .i "$other/P/7.json" "$other/P/2.json" | paste -sd' ')"
equal "and saves" "" "$(write "$other/P/9.json" '{"_id": 9, "i": 90, "s": ""}')"
has_90() { [ "$(jq .i "$point/P/9.json")" = 90 ]; }
check "which comes here" wait_until 20 has_90
stop_server "$other"
server=$mirror_server

# Failures.
tell refuse
equal "the server refuses: EPERM" EPERM "$(write "$point/P/7.json" '{"_id": 7, "i": 71, "s": "no"}')"
equal "nothing changed" 70 "$(jq .i "$point/P/7.json")"
equal "the text is kept" 71 "$(jq .i "$point/.realm/rejected/P/7.json")"
check "the reason, too" grep -q '212.*the change was not made' "$point/.realm/errors"
check "sync.json has it" wait_until 20 has_state '.refused | test("212")' true
check_status "info of the mirror, too" 0 'refused last +.*212' "$realmfs" info "$mirror"
wait_until 20 has_state .canSave true
tell drop
equal "a connection that ends before the answer" "" "$(write "$point/P/8.json" '{"_id": 8, "i": 80, "s": ""}')"
equal "is there once" 5 "$(tell uploads)"
stop_server "$point"
serve_synced "$url" "$point" --mirror "$mirror" --timeout 1 || exit
wait_until 20 has_state .canSave true
tell silence
equal "no answer in time: ETIMEDOUT" ETIMEDOUT "$(write "$point/P/10.json" '{"_id": 10, "i": 100, "s": ""}')"
check "the reason is kept" grep -q 'is sent again when the server answers' "$point/.realm/errors"
tell end
has_100() { [ "$(jq .i "$point/P/10.json")" = 100 ]; }
check "it is sent again" wait_until 20 has_100
equal "and is there once" 6 "$(tell uploads)"
check_status "nobody else writes the mirror" 1 'may write' "$realmfs" insert "$mirror" P _id=5000
check_status "or mounts it a second time" 8 'keeps the mirror up to date' "$realmfs" mount -f --sync "$url" --mirror "$mirror" "$other"
kill -9 $server && wait $server 2>/dev/null
umount -l "$point"
serve_synced "$url" "$point" --mirror "$mirror" --timeout 20 || exit
equal "a killed mount goes on" "100 6" "$(jq .i "$point/P/10.json") $(tell uploads)"
stop_server "$point"

# --read-only never writes.
serve_synced "$url" "$point" --mirror "$mirror" --read-only || exit
equal "--read-only: EROFS" EROFS "$(write "$point/P/7.json" '{"_id": 7, "i": 72, "s": ""}')"
tell add 60
check "but it follows" wait_until 20 test -e "$point/P/60.json"
equal "and sends nothing" 6 "$(tell uploads)"
stop_server "$point"

# --query lists a part of the objects.
serve_synced "$url" "$point" --mirror "$mirror" --query 'P: i >= 1000' || exit
equal "--query lists what it finds" "1.json 2.json 3.json" "$(cd "$point/P" && echo *)"
check "and says that everything is downloaded" grep -q 'whole realm is downloaded' "$scratch/server.log"
equal "the others are there by name" 70 "$(jq .i "$point/P/7.json")"
equal "and are saved" " 7" "$(write "$point/P/7.json" '{"_id": 7, "i": 7000, "s": "mine"}') $(tell uploads)"
equal "which lists it" "1.json 2.json 3.json 7.json" "$(cd "$point/P" && echo *)"
stop_server "$point"
check_status "a wrong query" 3 'P has no property zz' "$realmfs" mount -f --sync "$url" --mirror "$mirror" --query 'P: zz > 1' "$point"

# Offline.
serve_synced "$url" "$point" --mirror "$mirror" || exit
end_server
check "without the server" wait_until 20 has_state .state offline
equal "a save is ENETDOWN" ENETDOWN "$(write "$point/P/7.json" '{"_id": 7, "i": 1, "s": ""}')"
check "the reason is kept" grep -q 'not connected, so nothing can be changed' "$point/.realm/errors"
check_status "a shell is told, too" 1 'Network is down' bash -c 'echo "{\"i\": 2}" >"$1"' - "$point/P/7.json"
equal "and its text is kept" 2 "$(jq .i "$point/.realm/rejected/P/7.json")"
equal "nothing changed" 7000 "$(jq .i "$point/P/7.json")"
stop_server "$point"
serve_synced "$url" "$point" --mirror "$mirror" || exit
equal "a mirror is mounted without it, too" "51 offline" "$(ls "$point/P" | wc -l) $(wait_until 20 has_state .state offline && state .state)"
check "sync.json says when it tries again" [ "$(state .nextAttemptSeconds)" -ge 1 ]
stop_server "$point"
check_status "a first mount needs it" 12 'Connection refused; gave up after 1 s' \
  "$realmfs" mount -f --sync "$url" --mirror "$scratch/new.realm" --timeout 1 "$point"
equal "and leaves no file" "new.realm*" "$(echo new.realm*)"
check "the mirror is sound" "$realmfs" check "$mirror"

# A program that is unaware of mirrors.
start_server 3
serve_synced "$url" "$point" --mirror "$scratch/intruded.realm" || exit
wait_until 20 has_state .canSave true
tell intrude "$scratch/intruded.realm"
equal "a mirror that another program has written: sync.json says so" "failed false true" \
  "$(state '"\(.state) \(.canSave) \(.error | test("another program has written"))"')"
equal "a save is EROFS" EROFS "$(write "$point/P/1.json" '{"_id": 1, "i": 1, "s": ""}')"
check "with that reason" grep -q 'P/1.json.*another program has written' "$point/.realm/errors"
equal "and sends nothing" 0 "$(tell uploads)"
stop_server "$point"
end_server

# The server becomes unreachable between the removal of an object and the text that replaces it.
start_server 3
relay() {
  exec {from_relay}< <(exec python3 -c '
import socket, sys, threading
def pump(one, other):
    try:
        while data := one.recv(65536): other.sendall(data)
    except OSError: pass
    for end in (one, other):
        try: end.shutdown(2)
        except OSError: pass
relay = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(relay.getsockname()[1], flush=True)
while True:
    one, other = relay.accept()[0], socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for ends in ((one, other), (other, one)): threading.Thread(target=pump, args=ends, daemon=True).start()' "$1" "$port")
  relay_pid=$!
  background+=("$relay_pid")
  read -r relay_port <&"$from_relay"
}
relay 0
serve_synced "realm://127.0.0.1:$relay_port/test" "$point" --mirror "$scratch/relayed.realm" || exit
wait_until 20 has_state .canSave true
mkfifo "$scratch/go"
python3 -c '
import os, sys
os.unlink(sys.argv[1])
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
open(sys.argv[2]).read()
try:
  os.write(file, b"{\"i\": 9}")
  os.close(file)
except OSError as error: print(error.strerror)' "$point/P/1.json" "$scratch/go" >"$scratch/said" &
writer=$!
is_emptied() { [ ! -s "$point/P/1.json" ]; }
wait_until 20 is_emptied
kill "$relay_pid"
wait_until 20 has_state .state offline
echo >"$scratch/go"
wait "$writer"
equal "the new text is refused" "Network is down" "$(cat "$scratch/said")"
relay "$relay_port"
wait_until 60 has_state .canSave true
equal "with the server the next save is taken" "" "$(write "$point/P/2.json" '{"_id": 2, "i": 20, "s": ""}')"
equal "and brings the removed object back" 1 "$(jq .i "$point/P/1.json")"
stop_server "$point"
end_server

# A mirror that such a program has written.
"$realmfs" convert --local "$mirror" "$scratch/written.realm" >/dev/null
check_status "a realm that is no mirror" 8 'not a mirror of a synced realm' \
  "$realmfs" mount -f --sync "$url" --mirror "$scratch/written.realm" "$point"

# A name server that does not answer does not delay the end of the mount.
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
  python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.53", 53))
while True: s.recv(4096)' 2>/dev/null &
  background+=($!)
  echo "nameserver 127.0.0.53" >resolv.conf
  start=$SECONDS
  check_status "a name server that does not answer" 12 'no name server answers|no address' unshare --mount bash -c \
    'mount --bind resolv.conf /etc/resolv.conf && exec "$@"' - \
    "$realmfs" pull --timeout 2 realm://sync.example.org/test "$scratch/names.realm"
  check "is not waited for" [ $((SECONDS - start)) -lt 8 ]
fi

# A disk that fills up while the mount follows.
mkdir disk
if mount -t tmpfs -o size=1m tmpfs disk 2>/dev/null; then
  start_server 10
  serve_synced "$url" "$point" --mirror disk/mirror.realm || exit
  wait_until 20 has_state .canSave true
  head -c 2m /dev/zero >disk/filler 2>/dev/null
  # shellcheck disable=SC2046
  tell add $(seq 100 1500)
  check "a full disk is said" wait_until 20 has_state '.error | test("No space left")' true
  equal "what is there can be read" "10 offline" "$(ls "$point/P" | wc -l) $(state .state)"
  equal "a save fails" ENETDOWN "$(write "$point/P/7.json" '{"_id": 7, "i": 1, "s": ""}')"
  rm disk/filler
  check "with space it goes on" wait_until 60 test -e "$point/P/1500.json"
  equal "with saves, too" "" "$(wait_until 20 has_state .canSave true && write "$point/P/7.json" '{"_id": 7, "i": 70, "s": ""}')"
  stop_server "$point"
  check "the mirror is sound" "$realmfs" check disk/mirror.realm
  umount disk
else
  skip "a file system of its own needs root"
fi
