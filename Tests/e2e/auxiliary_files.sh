#!/usr/bin/env bash
# A directory from elsewhere can contain links under the names that realmfs uses next to a realm. The targets of such
# links are never changed; commands that only read still work.
source "$(dirname "$0")/lib.sh"

point=$(new_directory mnt)
precious=$scratch/precious
head -c 5000 /dev/urandom >"$precious"
before=$(sha256sum <"$precious")
folder=$(new_directory folder)
realm=$folder/x.realm
refusal='where (the lock file|a named pipe|a folder) of the realm belongs; it was not changed'

# plant KIND SUFFIX: a realm with a link of that kind beside it.
plant() {
  rm -rf "$folder"
  mkdir "$folder"
  cp "$fixtures/people.realm" "$realm"
  case $1 in
    symbolic) ln -s "$precious" "$realm$2" ;;
    dangling) ln -s "$scratch/absent" "$realm$2" ;;
    hard) ln "$precious" "$realm$2" ;;
    text) echo "a list of things to do" >"$realm$2" ;;
  esac
}
# intact WHAT: neither the link nor its target has changed.
intact() {
  equal "$1: the file it leads to is intact" "$before" "$(sha256sum <"$precious")"
  [ ! -e "$scratch/absent" ] || not_ok "$1: a file was made through the link"
  equal "$1: what was there is there" "$(ls -li "$realm$2" 2>/dev/null | cut -d' ' -f1,2,10-)" "$planted"
}

echo '{"$class": "Dog", "$key": 0}' >"$scratch/nothing.jsonl"
for suffix in .lock .note .management; do
  for kind in symbolic dangling hard text; do
    plant $kind $suffix
    planted=$(ls -li "$realm$suffix" | cut -d' ' -f1,2,10-)
    what="$kind $suffix"
    sums=$(sha256sum "$realm")
    for words in "query $realm Person TRUEPREDICATE" "export $realm $folder/out.jsonl" "diff $realm $realm" \
      "info $realm" "cat $realm Person" "check $realm" "backup $realm $folder/backup.realm"; do
      # shellcheck disable=SC2086
      check "$what: ${words%% *} reads" timeout 20 "$realmfs" $words
    done
    check_status "$what: mount refuses" 3 "$refusal" timeout 20 "$realmfs" mount "$realm" "$point"
    check_status "$what: mount --read-only leaves it alone, and says so" 0 'mounted as with --immutable' \
      timeout 20 "$realmfs" mount --read-only "$realm" "$point"
    "$realmfs" umount "$point" || not_ok "umount"
    check_status "$what: import refuses" 3 "$refusal" timeout 20 "$realmfs" import "$realm" "$scratch/nothing.jsonl"
    check "$what: mount --immutable works" timeout 20 "$realmfs" mount --immutable "$realm" "$point"
    check "$what: umount" "$realmfs" umount "$point"
    equal "$what: the realm is as it was" "$sums" "$(sha256sum "$realm")"
    if [ $suffix = .lock ]; then
      for words in "compact $realm" "encrypt --key-file $key_file $realm" "upgrade $realm"; do
        # shellcheck disable=SC2086
        check_status "$what: ${words%% *} refuses" 3 "$refusal" timeout 20 "$realmfs" $words
      done
    fi
    intact "$what" $suffix
    rm -rf "${folder:?}"/out.jsonl "$folder"/backup.realm
  done
done

# The temporary name of the new file of a compaction.
plant symbolic .tmp_compaction_space
planted=$(ls -li "$realm.tmp_compaction_space" | cut -d' ' -f1,2,10-)
check_status "compact names what is in its way" 3 'new file of a compaction' "$realmfs" compact "$realm"
intact "a link there" .tmp_compaction_space

# An upgrade's backup does not replace a link either.
old=$(find "$shared/fixtures/sdk" -name 'v9-java-default1.realm' 2>/dev/null)
if [ -n "$old" ]; then
  plant none
  cp "$old" "$folder/old.realm" && chmod 644 "$folder/old.realm"
  ln -s "$precious" "$folder/old.v9.backup.realm"
  check_status "upgrade refuses a backup name that leads elsewhere" 1 'backup' "$realmfs" upgrade "$folder/old.realm"
  equal "and leaves it" "$before" "$(sha256sum <"$precious")"
  ln -sf "$scratch/absent" "$folder/old.v9.backup.realm"
  check_status "or nowhere" 1 'exists|File exists' "$realmfs" upgrade "$folder/old.realm"
  [ ! -e "$scratch/absent" ] && ok "and makes nothing there" || not_ok "a backup was written through a link"
else
  skip "no fixture of an older format: the backup of an upgrade was not tried"
fi

# Lock files that were copied along with a realm do no harm.
"$realmfs" mount "$fixtures/people.realm" "$point" && "$realmfs" umount "$point"
wait_until 10 test -s "$fixtures/people.realm.lock"
for layout in 10 13 14 15; do
  for sizes in '\050\060' '\060\060' '\001\020'; do
    plant none
    cp "$fixtures/people.realm.lock" "$realm.lock"
    # shellcheck disable=SC2059
    printf "$sizes" | dd of="$realm.lock" bs=1 seek=1 conv=notrunc status=none
    # shellcheck disable=SC2059
    printf "\\$(printf %03o $layout)" | dd of="$realm.lock" bs=1 seek=6 conv=notrunc status=none
    check "a stale lock file of layout $layout, sizes $sizes" \
      bash -c '"$1" mount "$2" "$3" && echo "{\"age\": 77}" >"$3/Person/4.json"; "$1" umount "$3"' - "$realmfs" "$realm" "$point"
    equal "and the save is there" 77 "$("$realmfs" cat "$realm" Person/4.json | jq .age)"
  done
done
