#!/usr/bin/env bash
# Keys, values and names with letters of several scalars: a mark that combines with the character before it, and two
# forms of one letter. Swift's Character joins scalars that are separate in files, SQL and shells.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
mark=$(printf '\xcc\x81') whole=$(printf 'caf\xc3\xa9') parts=$(printf 'cafe\xcc\x81')
jq -n --arg whole "$whole" --arg parts "$parts" '{schemaVersion: 1, schema: [{name: "K", primaryKey: "_id",
  properties: {_id: "string", n: "int", text: "string", bag: {type: "dictionary", objectType: "int"}}}]}' >schema.json
check "a realm is made" "$realmfs" create k.realm --schema schema.json
for key in "$whole" "$parts" "${mark}x" "x$mark" "$mark" '"'"$mark" ",$mark" "a/${mark}b"; do
  jq -nc --arg key "$key" --arg whole "$whole" --arg parts "$parts" \
    '{_id: $key, n: 1, text: $key, bag: {($parts): 2, ($whole): 1}}'
done >k.jsonl
check "keys of either form are imported" "$realmfs" import k.realm k.jsonl --class K
equal "as different objects" "8" "$("$realmfs" query k.realm K --count)"
equal "and printed as they came" "$(sort k.jsonl)" "$("$realmfs" cat k.realm K | sort)"
equal "a query finds one form" "\"$parts\"" "$("$realmfs" query k.realm K "_id == '$parts'" | jq ._id)"

# After a slash or an equals sign.
equal "cat of a key that begins with a mark" "\"${mark}x\"" "$("$realmfs" cat k.realm "K/${mark}x.json" | jq ._id)"
check "set of one" "$realmfs" set k.realm "K/$mark" n=5 "text=${mark}neu"
equal "has the value" "[5,\"${mark}neu\"]" "$("$realmfs" cat k.realm "K/$mark" | jq -c '[.n, .text]')"
check "delete of one" "$realmfs" delete k.realm "K/$mark"
equal "leaves the others" "7" "$("$realmfs" query k.realm K --count)"

check "CSV keeps them apart" "$realmfs" export k.realm k.csv --class K
check "a second realm" "$realmfs" create other.realm --schema schema.json
check "takes the CSV" "$realmfs" import other.realm k.csv --class K
check "and holds the same" "$realmfs" diff k.realm other.realm

mnt=$(new_directory mnt)
serve k.realm "$mnt"
equal "a mount has a file for each" "7" "$(find "$mnt/K" -name '*.json' | wc -l)"
equal "with its own text" "\"$whole\"" "$(jq ._id "$mnt/K/$whole.json")"
equal "whatever the form" "\"$parts\"" "$(jq ._id "$mnt/K/$parts.json")"
check "that can be changed" sh -c 'echo "{\"n\": 7}" >"$1"' sh "$mnt/K/$parts.json"
equal "and only it" "1 7" "$(jq .n "$mnt/K/$whole.json") $(jq .n "$mnt/K/$parts.json")"
stop_server "$mnt"

# Names of classes and properties.
jq -n --arg class "${mark}x" --arg name "${mark}p" '{schemaVersion: 1, schema: [{name: $class, primaryKey: "_id",
  properties: {_id: "int", ($name): "int"}}]}' >named.json
check "a class whose name begins with a mark" "$realmfs" create named.realm --schema named.json
serve named.realm "$mnt"
equal "is a directory" "${mark}x" "$(ls "$mnt")"
check "that takes objects" sh -c 'echo "$1" >"$2/1.json"' sh "{\"${mark}p\": 3}" "$mnt/${mark}x"
stop_server "$mnt"
equal "that queries find" "3" "$("$realmfs" query named.realm "${mark}x" "${mark}p == 3" | jq ".\"${mark}p\"")"

# Two properties and two classes whose names look the same but differ.
jq -n --arg whole "$whole" --arg parts "$parts" '{schemaVersion: 1, schema: [$whole, $parts] | map({name: .,
  primaryKey: "_id", properties: ({_id: "int", ($whole): "int?", ($parts): "int?",
    ("s" + $whole): "string?", ("s" + $parts): "string?"})})}' >alike.json
check "names of either form stand side by side" "$realmfs" create alike.realm --schema alike.json
line() { jq -nc --arg whole "$whole" --arg parts "$parts" "$@" \
  '{_id: 1, ($whole): $a, ($parts): $b, ("s" + $whole): "a", ("s" + $parts): "b"}'; }
line --argjson a 1 --argjson b 2 >alike.jsonl
check "objects have both" "$realmfs" import alike.realm alike.jsonl --class "$parts"
equal "in their own class" "0 1" \
  "$("$realmfs" query alike.realm "$whole" --count) $("$realmfs" query alike.realm "$parts" --count)"
cp alike.realm before.realm
serve alike.realm "$mnt"
equal "fields are those of their names" "1 2 b" \
  "$(cat "$mnt/$parts/.fields/1/$whole") $(cat "$mnt/$parts/.fields/1/$parts") $(cat "$mnt/$parts/.fields/1/s$parts")"
equal "and are listed by value" "2" "$(ls "$mnt/$parts/.by/$parts")"
check "a field is written" sh -c 'echo 77 >"$1"' sh "$mnt/$parts/.fields/1/$parts"
check "and another one removed" rm "$mnt/$parts/.fields/1/s$parts"
equal "and no other" '[1,77,"a",null]' "$(jq -c --arg whole "$whole" --arg parts "$parts" \
  '[.[$whole], .[$parts], .["s" + $whole], .["s" + $parts]]' "$mnt/$parts/1.json")"
stop_server "$mnt"
equal "diff compares each with itself" "~ $parts/1.json $parts: 2 -> 77, s$parts: \"b\" -> null" \
  "$("$realmfs" diff before.realm alike.realm)"
equal "a query finds the one that it names" "1 0" \
  "$("$realmfs" query alike.realm "$parts" "$parts == 77" --count) $("$realmfs" query alike.realm "$parts" \
    "$whole == 77" --count)"
equal "a sum as well" "77" "$("$realmfs" query alike.realm "$parts" --sum "$parts")"
check "set of one" "$realmfs" set alike.realm "$parts/1" "$parts=5" "$whole=4"
equal "changes it" "4 5" "$("$realmfs" cat alike.realm "$parts" --columns "$whole,$parts" --format tsv | tail -n 1 | tr '\t' ' ')"
check "CSV has both" "$realmfs" export alike.realm alike.csv --class "$parts"
check "a third realm" "$realmfs" create third.realm --schema alike.json
check "takes the CSV" "$realmfs" import third.realm alike.csv --class "$parts"
check "and holds the same" "$realmfs" diff alike.realm third.realm

# Where only one form exists, commands accept the other one, too, because users type either. Schemas are exact.
jq -n --arg whole "$whole" '{schemaVersion: 1, schema: [{name: $whole, primaryKey: "_id",
  properties: {_id: "int", ($whole): "int?"}}]}' >one.json
check "a realm with one form" "$realmfs" create one.realm --schema one.json
echo '{"_id":1}' >one.jsonl
check "takes the other one for its class" "$realmfs" import one.realm one.jsonl --class "$parts"
check "and for its property" "$realmfs" set one.realm "$parts/1" "$parts=3"
equal "which keeps its name" "{\"_id\":1,\"$whole\":3}" "$("$realmfs" cat one.realm "$parts")"
serve one.realm "$mnt" -o create_classes
jq --arg parts "$parts" '.schemaVersion = 2 | .schema[0].properties = {_id: "int", ($parts): "int?"}' one.json >two.json
check "a schema with the other form" cp two.json "$mnt/.realm/schema.json"
equal "is another property" "{\"_id\":1,\"$parts\":null}" "$(jq -c . "$mnt/$whole/1.json")"
check "and another class is another class" mkdir "$mnt/$parts"
equal "beside the first" "2" "$(find "$mnt" -mindepth 1 -maxdepth 1 -type d | wc -l)"
stop_server "$mnt"

# In SQL, a quotation mark with a combining mark is a quotation mark.
jq -n --arg name "x\"$mark int); drop table K; --" '{schemaVersion: 1, schema: [{name: "K", primaryKey: "_id",
  properties: {_id: "int", ($name): "int"}}]}' >quoted.json
check "a property with such a name" "$realmfs" create quoted.realm --schema quoted.json
check "is exported to SQLite" "$realmfs" export quoted.realm quoted.sqlite
equal "as a name and nothing else" "ok" \
  "$(python3 - "$mark" <<'PY'
import sqlite3, sys
columns = [row[1] for row in sqlite3.connect("quoted.sqlite").execute("pragma table_info(K)")]
print("ok" if columns == ["_key", "_id", 'x"' + sys.argv[1] + " int); drop table K; --"] else columns)
PY
)"
