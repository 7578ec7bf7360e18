#!/usr/bin/env bash
# `.realm/trash` in a mount and `--trash DIR`: changed and deleted objects can be copied back.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
trash=$(new_directory trash)
chmod 755 "$trash"
check_status "a folder that does not exist" 3 "No such file.*create the directory first" "$realmfs" mount --trash "$scratch/no" "$file" "$point"
check_status "a file" 3 "is not a directory" "$realmfs" mount --trash "$file" "$file" "$point"
check_status "the mount itself" 9 "is in the mount" "$realmfs" mount --trash "$point" "$file" "$point"

serve "$file" "$point" --trash "$trash"
cp -r "$point/Person" "$point/Dog" "$scratch/"
echo '{"age": 97}' >"$point/Person/4.json"
sed 's/97/98/' "$point/Person/4.json" >"$scratch/changed.json"
cp "$scratch/changed.json" "$point/Person/4.json"
rm "$point/Dog/Rex.json" "$point/Person/18.json"
equal "the trash lists the classes" "Dog Person" "$(ls "$point/.realm/trash" | sort | paste -sd' ')"
equal "the text of a deleted object" "$(cat "$scratch/Dog/Rex.json")" "$(cat "$point/.realm/trash/Dog/Rex.json")"
equal "of a changed one the last text" 97 "$(jq .age "$point/.realm/trash/Person/4.json")"
equal "and the first one" "$(cat "$scratch/Person/4.json")" "$(cat "$point"/.realm/trash/Person/4.json.2*Z)"
equal "the folder has the same" "" "$(diff -r "$point/.realm/trash/Dog" "$trash/Dog"; cmp "$point/.realm/trash/Person/4.json" "$trash/Person/4.json")"
equal "and the first one" "$(cat "$scratch/Person/4.json")" "$(cat "$trash"/Person/4.json.2*Z)"
equal "for its owner alone" "600 700" "$(stat -c %a "$trash/Person/4.json" "$trash/Person" | paste -sd' ')"
cp "$point/.realm/trash/Person/18.json" "$point/Person/18.json"
cp "$point/.realm/trash/Dog/Rex.json" "$point/Dog/"
equal "what is copied back is there again" "" "$(diff -r "$scratch/Dog" "$point/Dog")"
jq '.schemaVersion += 1 | del(.schema[] | select(.name == "Dog").properties.weight)' "$point/.realm/schema.json" >"$scratch/schema.json"
"$realmfs" schema "$file" >"$scratch/former.json"
check "a schema without a property" cp "$scratch/schema.json" "$point/.realm/schema.json"
equal "the schema before is in the trash" "" "$(cmp "$scratch/former.json" "$point/.realm/trash/schema.json"; cmp "$scratch/former.json" "$trash/schema.json")"
jq '.schemaVersion += 2' "$point/.realm/trash/schema.json" >"$scratch/back.json"
check "and can be brought back with a greater version" cp "$scratch/back.json" "$point/.realm/schema.json"
equal "with the property, without its values" 0 "$(jq .weight "$point/Dog/Fido.json")"
check "rm empties the trash" rm -r "$point/.realm/trash/Dog/Rex.json"
equal "it is empty" "" "$(ls "$point/.realm/trash/Dog" 2>/dev/null)"
chmod 500 "$trash/Dog"
if [ "$(id -u)" -ne 0 ]; then
  rm "$point/Dog/Fido.json"
  check "a folder that takes nothing is reported" grep -q "former text was not kept" "$point/.realm/errors"
else
  rm -r "$trash/Dog" && touch "$trash/Dog"
  rm "$point/Dog/Fido.json"
  check "a folder that takes nothing is reported" grep -q "former text was not kept.*Not a directory" "$point/.realm/errors"
fi
equal "and the change goes on" "" "$(ls "$point/Dog/Fido.json" 2>/dev/null)"
stop_server "$point"
serve "$file" "$point"
equal "the trash of the mount is gone with it" "" "$(ls "$point/.realm/trash")"
equal "the folder is not" "4.json" "$(ls "$trash/Person" | grep -x 4.json)"
for name in $(seq 1 2000); do echo '{"good":true}'; done | jq -c '.name = "D\(input_line_number)"' >"$point/Dog/.all.jsonl"
equal "two thousand dogs" 2004 "$(cat "$point/Dog/.count")"
rm "$point"/Dog/D*.json
equal "are all in the trash" 2000 "$(ls "$point/.realm/trash/Dog" | wc -l)"
stop_server "$point"

# A directory controlled by another user cannot redirect writes.
[ "$(id -u)" -eq 0 ] || { skip "needs root to be several users"; exit; }
command -v setpriv >/dev/null || { skip "setpriv is absent: no other user to test with"; exit; }
chmod 755 "$scratch"
secret=$(new_directory secret) foreign=$(new_directory foreign) public=$(new_directory public)
echo precious >"$secret/Lassie.json"
chown 65534 "$foreign" && chmod 1777 "$public"
setpriv --reuid=65534 --regid=65534 --clear-groups ln -s "$secret" "$public/link"
check_status "a folder of another user" 3 "foreign belongs to user 65534" "$realmfs" mount --trash "$foreign" "$file" "$point"
check_status "one that every user can write to" 3 "public can be written to by every user" "$realmfs" mount --trash "$public" "$file" "$point"
check_status "one behind a link of another user" 3 "public/link belongs to user 65534" "$realmfs" mount --trash "$public/link" "$file" "$point"
mkdir "$foreign/inner"
check_status "one in a folder of another user" 3 "foreign belongs to user 65534" "$realmfs" mount --trash "$foreign/inner" "$file" "$point"
own=$(new_directory own)
chmod 755 "$own"
ln -s own "$scratch/way"
serve "$file" "$point" --trash "$scratch/way" || exit
ln -s "$secret" "$own/Dog"
rm "$point/Dog/Lassie.json"
check "a link in place of a class is not followed" grep -q "former text was not kept.*way/Dog" "$point/.realm/errors"
equal "what lies behind it stays" "precious Lassie.json" "$(cat "$secret/Lassie.json") $(ls "$secret")"
rm "$own/Dog" && mkdir -m 777 "$own/Dog"
cp "$point/.realm/trash/Dog/Lassie.json" "$point/Dog/" && rm "$point/Dog/Lassie.json"
check "nor is a class folder used that others can write to" grep -q "way/Dog can be written to by every user" "$point/.realm/errors"
rmdir "$own/Dog"
mv "$own" "$scratch/moved" && ln -s "$secret" "$own"
cp "$point/.realm/trash/Dog/Lassie.json" "$point/Dog/" && rm "$point/Dog/Lassie.json"
equal "exchanging the folder leads nowhere else" "Lassie.json precious Lassie.json" \
  "$(ls "$scratch/moved/Dog") $(cat "$secret/Lassie.json") $(ls "$secret")"
stop_server "$point"
check_status "the realm is sound" 0 . "$realmfs" check "$file"
