#!/usr/bin/env bash
# Shows realmfs at work on a copy of a sample realm. Prints every command that it runs; leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${REALMFS:-$PWD/.build/release/realmfs}

folder=$(mktemp -d)
trap 'cd /; "$program" umount "$folder/mnt" 2>/dev/null || true; rm -rf "$folder"' EXIT
cp Tests/Fixtures/people.realm "$folder/people.realm"
chmod 644 "$folder/people.realm"
mkdir "$folder/mnt"
cd "$folder"

# The program is called by its name, as after `make install`.
realmfs() { "$program" "$@"; }
run() {
  printf '\n\033[1m$ %s\033[0m\n' "$*"
  eval "$*"
}

[ -e /dev/fuse ] || {
  echo "This machine has no /dev/fuse, so nothing can be mounted; the commands that need no mount:"
  run "realmfs info people.realm"
  run "realmfs cat people.realm Person | head -3"
  exit 0
}
run "realmfs info people.realm"
run "realmfs mount people.realm mnt"
run "ls mnt mnt/Dog"
run "cat mnt/Person/4.json"
run "jq -r 'select(.age > 30) | [.name, .dog] | @tsv' mnt/Person/*.json"
run "grep -l Lassie mnt/Person/*"
run "echo '{\"age\": 22}' > mnt/Person/4.json"
run "jq -c . mnt/Person/4.json"
run "realmfs umount mnt"
