#!/usr/bin/env bash
# A core dump of a program with an encrypted realm contains neither the key nor values derived from it, such as the AES
# round keys of libcrypto.
source "$(dirname "$0")/lib.sh"
[ -r /proc/self/smaps ] || { skip "the memory of a process cannot be looked at" && exit; }

image() { python3 "$repository/Tests/e2e/core_image.py" "$1" "$key_file" 2>&1 | paste -sd';'; }
file=$(copy_fixture people-encrypted)
point=$(new_directory mnt)

serve "$file" "$point" --key-file "$key_file" || exit
cat "$point"/Person/*.json >"$scratch/texts"
for age in 1 2 3; do echo "{\"age\": $age}" >"$point/Person/4.json"; done
equal "a mount that read and saved" "" "$(image "$server")"
check "it goes on" bash -c 'echo "{\"age\": 4}" >"$1/Person/4.json" && cat "$1/Person/4.json"' - "$point"
stop_server "$point"

# Keys from a command, the environment and a descriptor, and a background mount, which forks.
key=$(tr -d '\n' <"$key_file")
for source in "--key-command 'cat $key_file'" "--key-env REALM_KEY" "--key-fd 9"; do
  [[ $source == *REALM_KEY ]] && export REALM_KEY=$key
  bash -c "exec \"\$1\" mount $source \"\$2\" \"\$3\" 9<\"\$4\"" - "$realmfs" "$file" "$point" "$key_file"
  unset REALM_KEY
  cat "$point"/Person/*.json >"$scratch/texts"
  equal "a mount in the background, ${source%% *}" "" "$(image "$(getfattr --only-values -n user.realmfs.pid "$point" 2>/dev/null)")"
  check "umount" "$realmfs" umount "$point"
done

# A command in the middle of its output: its pipe is not read.
mkfifo "$scratch/pipe"
sleep 600 <"$scratch/pipe" &
background+=("$!")
"$realmfs" watch --key-file "$key_file" "$file" >"$scratch/pipe" &
command=$!
background+=("$command")
wait_until 10 bash -c '[ "$(awk "{print \$3}" /proc/$1/stat)" = S ]' - "$command"
equal "a command" "" "$(image "$command")"

# The search finds secrets that are there.
python3 -c '
import sys, time
key = bytes.fromhex(open(sys.argv[1]).read())
print("ready", flush=True)
time.sleep(600)' "$key_file" >"$scratch/ready" &
command=$!
background+=("$command")
wait_until 10 test -s "$scratch/ready"
check "a program that has the key in its memory is found out" grep -q "the key" <<<"$(image "$command")"
