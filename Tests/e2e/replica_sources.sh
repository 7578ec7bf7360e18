#!/usr/bin/env bash
# The file of a realm changes in every way while `realmfs replicate` is stopped: removals by a commit are applied; a file
# that only resembles the realm removes nothing from the replica.
source "$(dirname "$0")/replica_lib.sh"

# ---- the file is unreadable or has lost its content ----

begin
head -c 16 /dev/zero | dd of="$file" conv=notrunc status=none
stops "an empty header" 4 'the header points to no version'
begin
: >"$file"
stops "an empty file" 4 'app.realm'
begin
truncate -s 4096 "$file"
stops "half a file" 4 'damaged'
begin
head -c 8192 /dev/urandom >"$file"
stops "random bytes" 4 'app.realm'
begin
rm "$file"
stops "no file" 3 'No such file'
mkdir "$file"
stops "a folder" 3 'app.realm'
rmdir "$file"
ln -s nowhere "$file"
stops "a link to nothing" 3 'app.realm'

# ---- older copies, other realms ----

for way in cp mv; do
  begin
  cp "$file" "$scratch/backup.realm"
  "$realmfs" delete --quiet --yes "$file" Person/11
  once --quiet
  $way "$scratch/backup.realm" "$file"
  stops "a backup ($way)" 1 'version 8, but the replica at version 9.*overwrite|version 8, but the replica at version 9.*--accept-replacement' follows
  begin
  other
  $way "$scratch/other.realm" "$file"
  stops "another realm ($way)" 1 'another realm has taken|another file has taken' follows
  begin
  cp "$fixtures/all-types.realm" "$scratch/types.realm" && chmod 644 "$scratch/types.realm"
  $way "$scratch/types.realm" "$file"
  stops "a realm of another app ($way)" 1 'drop table|version [0-9]+, but the replica'
done
begin
rm -rf "$file"*
quietly "$realmfs" create --schema "$scratch/schema.json" "$file"
stops "an empty realm, made anew" 1 'but the replica at version'
begin
cp "$file" "$scratch/fork.realm"
commit 40
once --quiet
"$realmfs" set --quiet "$scratch/fork.realm" Person/4 age=41
cp "$scratch/fork.realm" "$file"
stops "a copy that went on differently" 1 'is at version 9 as the replica is' follows
begin
"$realmfs" recover "$file" "$scratch/saved.realm" >/dev/null
commit 42
once --quiet
cp "$scratch/saved.realm" "$file"
stops "what 'recover' saved of an older version" 1 'but the replica at version'
begin
other
check_status "the replica of another realm is not taken" 1 'the replica was made from' \
  "$realmfs" replicate --once "$scratch/other.realm" "$database"

# ---- the same realm ----

begin
quietly "$realmfs" compact "$file"
follows "compacted"
begin
commit 50
quietly "$realmfs" compact "$file"
commit 51
follows "committed to, compacted, committed to"
begin
"$realmfs" delete --quiet --yes "$file" Person TRUEPREDICATE
"$realmfs" delete --quiet --yes "$file" Dog TRUEPREDICATE
follows "everything deleted, in two commits"
equal "and no row is left" 0 "$(sql 'SELECT count(*) FROM realm."Person"')"
begin
"$realmfs" delete --quiet --yes "$file" Person TRUEPREDICATE
"$realmfs" insert --quiet "$file" Person '{"_id": 900}'
follows "all people deleted, and another one made"
begin
commit 7
quietly "$realmfs" undo "$file"
follows "undone"
begin
cp "$file" "$scratch/backup.realm"
mv "$scratch/backup.realm" "$file"
follows "a backup of the version that the replica has"
begin
touch "$file"
follows "touched"
begin
head -c 64 /dev/urandom | xxd -p -c 200 | tr -d '\n' >"$scratch/key1"
head -c 64 /dev/urandom | xxd -p -c 200 | tr -d '\n' >"$scratch/key2"
commit 60
quietly "$realmfs" encrypt --key-file "$scratch/key1" "$file"
stops "encrypted, without the key" 5 'key'
follows "encrypted" --key-file "$scratch/key1"
"$realmfs" set --quiet --key-file "$scratch/key1" "$file" Person/4 age=61
quietly "$realmfs" rekey --key-file "$scratch/key1" --new-key-file "$scratch/key2" "$file"
check_status "with another key, without it" 6 'key' once --key-file "$scratch/key1"
follows "with another key" --key-file "$scratch/key2"
quietly "$realmfs" decrypt --key-file "$scratch/key2" "$file"
follows "decrypted"
forget
rm -rf "$file"*
cp "$fixtures/old/v9-core-5.23.9.realm" "$file" && chmod 644 "$file"
once --quiet
quietly "$realmfs" upgrade "$file" >/dev/null
follows "upgraded"
begin
"$realmfs" recover "$file" "$scratch/saved2.realm" >/dev/null
mv "$scratch/saved2.realm" "$file"
follows "what 'recover' saved of the version that the replica has"

# ---- a row that another program changed ----

begin
sql 'UPDATE realm."Person" SET age = 5 WHERE _id = 4; DELETE FROM realm."Person_friends"; UPDATE realm."Person" SET dog = NULL;
  DELETE FROM realm."Dog" WHERE name = $$Rex$$; INSERT INTO realm."Person" (_id) VALUES (7777)'
check_status "verify-replica names the rows" 1 'Person 4: different values' same
check_status "which are missing" 1 'Dog Rex: not in the database' same
check_status "which are too many" 1 'Person 7777: only in the database' same
check_status "and says how to repair them" 1 "replicate --once --repair" same
"$realmfs" verify-replica --json "$file" "$database" 2>/dev/null >"$scratch/report.json"
equal "in JSON, too" "1 extra, 15 values" \
  "$(jq -r '.classes[] | select(.name == "Person") | [.rows[].difference] | group_by(.) | map("\(length) \(.[0])") | join(", ")' "$scratch/report.json")"
check "--once alone has nothing to do" once --quiet
check_status "--repair repairs them" 0 'rows? written' once --repair
check "and both are the same" same
sql 'DELETE FROM realm."Person_friends"'
check_status "lists of links, too" 1 'different values' same
check "are repaired" once --quiet --repair
check "and the same" same
