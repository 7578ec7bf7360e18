# Sourced by the tests of synced realms: a sync server on the loopback interface, and commands to it.
# shellcheck shell=bash disable=SC2034
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

sync_server=${SYNC_SERVER:-$repository/.build/debug/SyncServer}
if [ ! -x "$sync_server" ]; then
  skip "$sync_server is not there; 'make build' makes it"
  exit
fi

# start_server OBJECTS: starts it; its process id is in $sync_pid, its port in $port, the realm's address in $url.
start_server() {
  coproc SYNC { exec "$sync_server" "$1" 2>&1; }
  sync_pid=$SYNC_PID
  background+=("$sync_pid")
  exec {to_server}>&"${SYNC[1]}" {from_server}<&"${SYNC[0]}"
  read -r port <&"$from_server"
  url=realm://127.0.0.1:$port/test
}

# tell COMMAND...: sends a command to the server, and prints its answer.
tell() {
  echo "$*" >&"$to_server"
  local answer
  read -r answer <&"$from_server"
  [ "$answer" = ok ] || echo "$answer"
}

end_server() { { kill -9 "$sync_pid" && wait "$sync_pid"; } 2>/dev/null; }

# serve_synced URL MOUNTPOINT [OPTION]...: as `serve`, for a synced realm.
serve_synced() {
  local url=$1 point=$2
  shift 2
  serve_at "$point" --sync "$url" "$@"
}

# state FILTER: a value of .realm/sync.json.
state() { jq -r "$1" "$point/.realm/sync.json"; }
# has_state FILTER VALUE
has_state() { [ "$(state "$1")" = "$2" ]; }

# write FILE TEXT: saves as an editor does; prints the name of the error.
write() {
  python3 -c '
import errno, os, sys
try:
    with open(sys.argv[1], "w") as file: file.write(sys.argv[2])
except OSError as error: print(errno.errorcode[error.errno])' "$@"
}
