#!/usr/bin/env bash
# Without /proc, as in a bare chroot, everything works except what needs /proc, and that is reported.
source "$(dirname "$0")/lib.sh"

unshare --mount bash -c 'umount -l /proc' 2>/dev/null || { skip "a private mount table needs root"; exit; }
cd "$scratch" || exit 1
file=$(copy_fixture people)
point=$(new_directory mnt)
export file point realmfs key_file
# without COMMAND...: a shell command in a mount table without /proc. It must serve its mounts in the foreground or unmount
# them, because a server keeps the mount table alive.
without() { unshare --mount bash -c "umount -l /proc && $1" 2>&1; }

check_status "info does not claim that nobody uses it" 0 '^in use by +unknown, because /proc is missing' \
  without '"$realmfs" info "$file"'
equal "nor does its JSON" "null" "$(without '"$realmfs" info --json "$file"' | jq .lockHolders)"
echo '{"name":"new"}' >Dog.jsonl
for command in 'cat "$file" Dog' 'export --format json "$file" tree' 'export --format sqlite "$file" db' 'backup "$file" copy.realm' \
  'compact "$file"' 'create new.realm' 'recover "$file" recovered.realm' 'encrypt --key-file "$key_file" "$file" secret.realm' \
  'check copy.realm' 'import "$file" Dog.jsonl'; do
  check "$command" without "\"\$realmfs\" $command"
done
check_status "an argument is an argument" 2 "unknown command 'mout'; did you mean mount" without '"$realmfs" mout'
equal "mount shows the tree" "Dog Person" \
  "$(without '"$realmfs" mount "$file" "$point" && ls "$point" && umount "$point"' | paste -sd' ')"
check_status "umount says what it misses" 9 'because /proc is missing' without '"$realmfs" umount "$point"'
"$realmfs" export --format json copy.realm copied
check "the copy is whole" diff -r tree copied
