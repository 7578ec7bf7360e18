#!/usr/bin/env bash
# Root and realms of other users: root reads them without joining the session and reports this, changes them while no
# other program has them open, and joins the session only with --trust-owner.
source "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null || { skip "only root can test what root does" && exit; }

as_owner=(setpriv --reuid=61001 --regid=61001 --clear-groups)
chmod 755 "$scratch"
folder=$(new_directory theirs)
point=$(new_directory mnt)
file=$folder/a.realm
fresh() {
  rm -rf "${folder:?}"/*
  cp "$fixtures/people.realm" "$file" && chmod 644 "$file" && chown -R 61001:61001 "$folder"
}
age() { jq .age "$point/Person/4.json"; }
beside() { (cd "$folder" && find . -mindepth 1 ! -name a.realm | sort | paste -sd" "); }
notice='belongs to user 61001.*--trust-owner'

# ---- a mount ----

fresh
serve "$file" "$point"
equal "root reads it" 19 "$(ls "$point/Person" | wc -l)"
equal "one line of notice names the option" "1 1" \
  "$(wc -l <"$scratch/server.log") $(grep -cE "mounted read-only: .*$notice" "$scratch/server.log")"
check_status "a change is refused as on a read-only file system" 1 'Read-only file system' \
  bash -c 'echo "{}" 2>&1 >"$1/Person/4.json"' - "$point"
equal "nothing is made beside it" "" "$(beside)"
check "the owner changes it" "${as_owner[@]}" "$realmfs" set "$file" Person/4 age=77
check "the change shows" wait_until 10 test "$(age)" = 77
stop_server "$point"

for option in --trust-owner "-o trust_owner"; do
  fresh
  # shellcheck disable=SC2086
  serve "$file" "$point" $option
  equal "$option: no notice" "" "$(cat "$scratch/server.log")"
  check "$option: root changes it" bash -c 'echo "{\"age\": 78}" >"$1/Person/4.json"' - "$point"
  check "$option: the owner takes part" "${as_owner[@]}" "$realmfs" set "$file" Person/18 age=79
  check "$option: root too" "$realmfs" set --trust-owner "$file" Person/11 age=80
  equal "$option: all is there" "78 79 80" "$(jq -s -c '.[].age' "$point/Person/"{4,18,11}.json | paste -sd" ")"
  equal "$option: what is beside it is the owner's" "" "$(find "$folder" ! -uid 61001)"
  stop_server "$point"
done
check "fstab may say it" "$realmfs" mount -o trust_owner "$file" "$point"
check "umount" "$realmfs" umount "$point"

fresh
serve "$file" "$point" --read-only
equal "--read-only says the same" 1 "$(grep -cE 'belongs to another user.*--trust-owner' "$scratch/server.log")"
stop_server "$point"
serve "$file" "$point" --immutable
equal "--immutable has nothing to say" "" "$(cat "$scratch/server.log")"
stop_server "$point"
"$realmfs" schema "$file" >"$scratch/schema.json"
check_status "a schema is refused, not forgotten" 1 "cannot be given a schema: .*$notice" \
  "$realmfs" mount --schema "$scratch/schema.json" "$file" "$point"

# ---- commands ----

fresh
for command in "query FILE Person" "cat FILE Person/4" "info FILE" "export FILE" "check FILE" "diff FILE FILE" \
  "schema FILE" "backup FILE $scratch/backup.realm"; do
  # shellcheck disable=SC2086
  output=$("$realmfs" ${command//FILE/$file} 2>&1 >/dev/null)
  equal "$command needs no option" "0 " "$? $output"
done
check_status "diff --previous finds what the last commit did" 1 '' "$realmfs" diff --previous "$file"
check "set, while no other program has it open" "$realmfs" set -q "$file" Person/4 age=81
check "import" "$realmfs" import --class Person "$file" - <<<'{"_id": 18, "age": 82}'
check "insert" "$realmfs" insert -q "$file" Person _id=900 age=83
check "delete" "$realmfs" delete -q -y "$file" Person/900
check "compact" "$realmfs" compact "$file"
equal "what was changed is there" "81 82" \
  "$(for name in 4 18; do "${as_owner[@]}" "$realmfs" cat "$file" "Person/$name" | jq .age; done | paste -sd" ")"
equal "everything is the owner's" "" "$(find "$folder" ! -uid 61001)"

serve "$file" "$point" --trust-owner
ls "$point/Person" >"$scratch/list"
# A program of the owner.
"${as_owner[@]}" flock -F -s "$file.lock" sleep 600 &
background+=("$!")
stop_server "$point"
wait_until 10 bash -c '! flock -xn "$1" true' - "$file.lock"
for command in "set FILE Person/4 age=84" "insert FILE Person _id=901" "delete -y FILE Person/18"; do
  # shellcheck disable=SC2086
  check_status "$command, while a program has it open, names the option" 8 "$notice; or close the programs" \
    "$realmfs" ${command//FILE/$file}
done
check_status "compact says who has it open" 8 'in use by' "$realmfs" compact "$file"
{ kill "${background[-1]}" && wait "${background[-1]}"; } 2>/dev/null

# ---- a lock file of another user beside root's realm ----

folder=$(new_directory ours)
file=$folder/a.realm
cp "$fixtures/people.realm" "$file" && chmod 777 "$folder" && chmod 666 "$file"
check "a user who may write to root's realm" "${as_owner[@]}" "$realmfs" set -q "$file" Person/4 age=85
equal "makes a lock file of his own" 61001 "$(stat -c %u "$file.lock")"
serve "$file" "$point"
equal "which root does not share" 1 "$(grep -cE "a.realm.lock: $notice" "$scratch/server.log")"
equal "but reads the realm" 85 "$(age)"
stop_server "$point"
rm -rf "$file.lock"
serve "$file" "$point"
equal "with a lock file of root's all is as usual" "" "$(cat "$scratch/server.log")"
check "and written to" bash -c 'echo "{\"age\": 86}" >"$1/Person/4.json"' - "$point"
# The owner changes while the realm is mounted: the mount stays in the session, but does not join it again.
chown 61001 "$file" "$file.lock"
check "a realm that is given away is read on" wait_until 15 bash -c 'flock -xn "$1" true' - "$file.lock"
equal "after the mount has left it" 86 "$(age)"
echo '{"age": 87}' >"$scratch/87.json"
check_status "and not written to" 1 'Permission denied' cp "$scratch/87.json" "$point/Person/4.json"
check "the reason is kept" grep -q -- --trust-owner "$point/.realm/errors"
chown 0 "$file" "$file.lock"
check "when it is given back, it is written to again" wait_until 10 cp "$scratch/87.json" "$point/Person/4.json"
equal "and read" 87 "$(age)"
stop_server "$point"
