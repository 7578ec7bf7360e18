#!/usr/bin/env bash
# `realmfs merge`: two realms become one; conflicts are files, the merged files do not change.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
for file in "$fixtures"/*.realm; do
  name=$(basename "$file") options=()
  [[ $name != synced.realm ]] || continue
  [[ $name != *encrypted* ]] || options=(--key-file "$key_file")
  check "$name: merged with itself" "$realmfs" merge "${options[@]}" "$file" "$file" "$file" -o "same-$name"
  check_status "$name: nothing changes" 0 '^$' "$realmfs" diff "${options[@]}" "$file" "same-$name"
  check_status "$name: nor without a base" 0 ' 0 created, 0 changed, 0 deleted' \
    "$realmfs" merge "${options[@]}" "$file" "$file" -o "union-$name"
done

cp "$fixtures/people.realm" base.realm && chmod 640 base.realm
cp -p base.realm ours.realm && cp -p base.realm theirs.realm
"$realmfs" set --quiet ours.realm Person/4 name=Ann
"$realmfs" insert --quiet ours.realm Dog name=Ace weight=1
"$realmfs" set --quiet theirs.realm Person/4 age=33
"$realmfs" delete --quiet --yes theirs.realm Person/18
rm -f -- *.lock
sums=$(sha256sum base.realm ours.realm theirs.realm)
check_status "both sides" 0 'out.realm: 0 created, 2 changed, 1 deleted' \
  "$realmfs" merge base.realm ours.realm theirs.realm -o out.realm
equal "what is from ours" $'~ Person/4.json name: "Person 1" -> "Ann"\n+ Dog/Ace.json' \
  "$("$realmfs" diff theirs.realm out.realm | sed 's/ {.*//' | sort -r)"
equal "the merged files are unchanged" "$sums" "$(sha256sum base.realm ours.realm theirs.realm)"
equal "nothing is left beside them" "" "$(ls -A | grep -E '^\.realmfs|lock$|conflicts')"
equal "the mode is that of ours" 640 "$(stat -c %a out.realm)"
check "the result is sound" "$realmfs" check out.realm
check_status "an existing file is kept" 1 'out.realm already exists' \
  "$realmfs" merge base.realm ours.realm theirs.realm -o out.realm
check_status "without -o" 2 'name the new realm with -o OUT' "$realmfs" merge base.realm ours.realm
check_status "one file" 2 'THEIRS is missing' "$realmfs" merge base.realm -o other.realm
check_status "another program's file" 4 'Makefile' "$realmfs" merge "$repository/Makefile" ours.realm theirs.realm -o other.realm
equal "after a failure, there is no file" "" "$(ls -A | grep -E 'other|^\.realmfs')"

# --- conflicts ---

"$realmfs" set --quiet ours.realm Person/18 age=50
"$realmfs" set --quiet theirs.realm Person/4 name=Bo
check_status "conflicts" 1 'two.realm: 2 conflicts, .* see two.realm.conflicts' \
  "$realmfs" merge base.realm ours.realm theirs.realm -o two.realm
equal "their files" $'Person/18.json\nPerson/4.json' "$(cd two.realm.conflicts && find . -type f | sed 's,^./,,' | sort)"
equal "the values" '["Person 1","Ann","Bo"]' \
  "$(jq -c '[.base, .ours, .theirs | .name]' two.realm.conflicts/Person/4.json)"
equal "the property" '["name"]' "$(jq -c .properties two.realm.conflicts/Person/4.json)"
equal "the deleted object" '[50,null]' "$(jq -c '[.ours.age, .theirs]' two.realm.conflicts/Person/18.json)"
equal "only for their owner" '700 600' \
  "$(stat -c %a two.realm.conflicts two.realm.conflicts/Person/4.json | xargs)"
equal "the realm has the values of ours" '"Ann" 50' \
  "$("$realmfs" cat two.realm Person/4 | jq .name) $("$realmfs" cat two.realm Person/18 | jq .age)"
check_status "earlier conflicts are kept" 1 'two.realm.conflicts is not empty' \
  "$realmfs" merge base.realm ours.realm theirs.realm -o two.realm --force
for side in ours theirs; do
  check_status "--prefer $side" 0 "Person/4.json: .* \(name\); decided for ${side^^}" \
    "$realmfs" merge --prefer $side base.realm ours.realm theirs.realm -o $side-wins.realm
done
equal "the preferred values" 'Ann Bo' \
  "$(for side in ours theirs; do "$realmfs" cat $side-wins.realm Person/4 | jq -r .name; done | xargs)"
check_status "the preferred deletion" 3 'no such file' "$realmfs" cat theirs-wins.realm Person/18
equal "as JSON" '{"created":0,"conflicts":2,"decided":0}' "$("$realmfs" merge --json base.realm ours.realm theirs.realm \
  -o json.realm 2>/dev/null | jq -c '{created, conflicts, decided}')"

# --- one file is replaced ---

cp -p ours.realm mine.realm
check_status "into ours" 1 '2 conflicts' \
  "$realmfs" merge base.realm mine.realm theirs.realm -o mine.realm --force --conflicts elsewhere
equal "replaced" 33 "$("$realmfs" cat mine.realm Person/4 | jq .age)"
equal "the named directory" Person "$(ls elsewhere)"
: >empty
check_status "an empty file is no base" 1 'conflict' "$realmfs" merge empty ours.realm theirs.realm -o union.realm
check_status "without a base" 0 'decided for OURS' \
  "$realmfs" merge --prefer ours ours.realm theirs.realm -o union2.realm
mnt=$(new_directory mnt)
serve mine.realm "$mnt" && {
  check_status "a realm in use is not replaced" 8 'in use' \
    "$realmfs" merge --prefer ours base.realm ours.realm theirs.realm -o mine.realm --force
  check_status "a mounted realm can be merged" 0 'wrote' \
    "$realmfs" merge --prefer ours base.realm mine.realm theirs.realm -o of-mounted.realm
  check_status "not into a mount" 9 'in memory only' \
    "$realmfs" merge --prefer ours base.realm ours.realm theirs.realm -o "$mnt/out.realm"
  check_status "nor its conflicts" 9 'in memory only' \
    "$realmfs" merge base.realm ours.realm theirs.realm -o in-mount.realm --conflicts "$mnt/conflicts"
  stop_server "$mnt"
}

# --- commits during a merge ---

# Commits to the third file while the first two are merged into it.
commit_during_merge() {
  "$realmfs" merge --prefer ours base.realm "$1" "$2" -o "$3" --force >merged.txt 2>&1 &
  local merge=$! status=0
  until compgen -G '.realmfs-*' >/dev/null || is_dead $merge; do :; done
  kill -STOP $merge
  "$realmfs" set --quiet "$3" Person/4 age=77
  kill -CONT $merge
  wait $merge || status=$?
  echo "$status $(sed -E 's/.*(changed while it was merged|in use).*/\1/' merged.txt)"
}

for side in ours theirs; do
  cp -p base.realm large.realm
  seq 20000 | sed 's/.*/{"$class": "Dog", "name": "d&"}/' | "$realmfs" import --quiet large.realm -
  rm -f large.realm.lock
  [[ $side == ours ]] && others=(large.realm ours.realm) || others=(ours.realm large.realm)
  # The first commit creates the lock file, which the second merge opens.
  for _ in 1 2; do
    equal "$side: is not replaced" "8 changed while it was merged" "$(commit_during_merge "${others[@]}" large.realm)"
    equal "$side: the commit stays" 77 "$("$realmfs" cat large.realm Person/4 | jq .age)"
    "$realmfs" set --quiet large.realm Person/4 age=1
  done
  equal "$side: nothing is left" "" "$(ls -A | grep -E '^\.realmfs')"
  check_status "$side: the lock file does not prevent another merge" 0 'wrote large.realm' \
    "$realmfs" merge --prefer ours base.realm "${others[@]}" -o large.realm --force
done

# --- encrypted ---

cp "$fixtures/people-encrypted.realm" secret.realm
check_status "an encrypted realm" 0 '1 created' \
  "$realmfs" merge --key-file "$key_file" base.realm secret.realm ours.realm -o secret-out.realm
check_status "is encrypted again" 5 'key' "$realmfs" info secret-out.realm
check "with the same key" "$realmfs" check --key-file "$key_file" secret-out.realm
check_status "into one that is not" 0 'wrote' \
  "$realmfs" merge --key-file "$key_file" --prefer ours base.realm ours.realm secret.realm -o plain-out.realm
check "stays unencrypted" "$realmfs" check plain-out.realm

# --- schemas ---

cp -p base.realm typed.realm && cp -p base.realm typed2.realm
"$realmfs" property add --quiet typed.realm Person nick string >/dev/null
"$realmfs" property add --quiet typed2.realm Person nick int >/dev/null
check_status "different types" 1 'Person.nick is string in OURS and int in THEIRS' \
  "$realmfs" merge base.realm typed.realm typed2.realm -o typed-out.realm
check_status "an added property" 0 'wrote' "$realmfs" merge base.realm ours.realm typed.realm -o typed-out.realm
check_status "is in the result" 0 'nick' "$realmfs" schema typed-out.realm
