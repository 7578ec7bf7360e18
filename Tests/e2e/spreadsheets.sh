#!/usr/bin/env bash
# CSV as spreadsheets write it: byte order marks, semicolons and tabs, decimal commas, TRUE, empty cells, encodings; and
# the messages for refused cells, which quote the file. The files are byte for byte those that Excel writes.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
jq -n '{schemaVersion: 0, schema: [
  {name: "Dog", primaryKey: "name", properties: {name: "string", weight: "double", good: "bool", born: "date?", nick: "string?",
    note: "string", age: "int?", price: "decimal128?", photo: "data?", tags: "string[]", extra: "mixed", owner: "Person"}},
  {name: "Person", primaryKey: "_id", properties: {_id: "int", name: "string?"}},
  {name: "Free", properties: {a: "string?", b: "int?"}},
  {name: "Maybe", primaryKey: "k", properties: {k: "string?", b: "int?"}}]}' >schema.json
fresh() { rm -rf new.realm*; "$realmfs" create --schema schema.json new.realm; }
dogs() { "$realmfs" cat new.realm Dog; }
fresh

# "CSV UTF-8" where the comma is the decimal mark: a byte order mark, semicolons, CRLF, line feeds within cells, and the
# emptied rows.
printf '\xef\xbb\xbfname;weight;good;born;nick;note;age;price\r\n' >Dog.csv
printf '\xc3\x84nne;1,5;TRUE;2024-05-01;;;;\r\n"a;""b""";10;FALSE;2024-05-01 10:00:00;x;"two\nlines";007;1,25\r\n;;;;;;;\r\n' >>Dog.csv
check_status "CSV UTF-8 with semicolons" 0 "fields are separated by ';', and 1,5 is 1.5" "$realmfs" import new.realm Dog.csv
equal "every cell has its type" \
  '{"name":"Änne","weight":1.5,"good":true,"born":"2024-05-01T00:00:00Z","nick":null,"note":"","age":null,"price":null}
{"name":"a;\"b\"","weight":10.0,"good":false,"born":"2024-05-01T10:00:00Z","nick":"x","note":"two\nlines","age":7,"price":"1.25"}' \
  "$(dogs | sed 's/,"photo".*/}/')"
check_status "once more changes nothing" 0 '0 created, 0 changed, 2 unchanged, 0 refused' "$realmfs" import new.realm Dog.csv
printf 'name;nick;note\r\na;;\r\n' | sed 's/^a/"a;""b"""/' >Dog.csv
check "cells that were emptied" "$realmfs" import new.realm Dog.csv
equal "are null where that can be, else the empty string" 'null ""' \
  "$(dogs | jq -r 'select(.name == "a;\"b\"") | "\(.nick) \(.note | tojson)"')"

# "Unicode text": UTF-16 with tabs. "CSV": the regional encoding.
fresh
printf 'name\tweight\tgood\r\nR\xc3\xa9x\t2,5\tTRUE\r\n"B\t""o"""\t3.25\tfalse\r\n' | iconv -f UTF-8 -t UTF-16 >Dog.txt
check_status "Unicode text" 0 'read as UTF-16' "$realmfs" import --format csv --class Dog new.realm Dog.txt
check_status "Unicode text: the separator" 0 'fields are separated by tabs' "$realmfs" import --format csv --class Dog new.realm Dog.txt
equal "its cells" '["Réx",2.5,true] ["B\t\"o\"",3.25,false]' "$(dogs | jq -c '[.name, .weight, .good]' | paste -sd' ')"
for order in LE BE; do
  fresh
  { [ $order = LE ] && printf '\xff\xfe' || printf '\xfe\xff'; iconv -f UTF-8 -t UTF-16$order <<<$'name,age\nä,5'; } >Dog.csv
  check "UTF-16$order" "$realmfs" import new.realm Dog.csv
  equal "UTF-16$order: its cells" 'ä 5' "$(dogs | jq -r '"\(.name) \(.age)"')"
  "$realmfs" import --class Dog new.realm - <Dog.csv --format csv 2>/dev/null || not_ok "UTF-16$order through a pipe"
done
fresh
printf 'name,age\r\nRex,1\r\n"line\nbreak J\xf6rg",2\r\n' >Dog.csv
check_status "bytes that are not UTF-8 have a line and a column" 1 \
  'Dog.csv: line 4, column 8: byte 0xF6 is not UTF-8: add the encoding of the file, such as --encoding windows-1252' \
  "$realmfs" import new.realm Dog.csv
equal "nothing is stored" "" "$(dogs)"
printf 'name,age\r\nJ\xf6rg,2\r\n' >Dog.csv
for encoding in latin1 windows-1252 ISO-8859-15; do
  fresh
  check "--encoding $encoding" "$realmfs" import --encoding $encoding new.realm Dog.csv
  equal "$encoding: the name" 'Jörg' "$(dogs | jq -r .name)"
done
printf '{"name":"J\xf6rg"}\n' >Dog.jsonl
check_status "lines of JSON that are not UTF-8" 1 'line 1, column 11: .*not UTF-8.*--encoding' "$realmfs" import new.realm Dog.jsonl
fresh
check "lines of JSON, with --encoding" "$realmfs" import --encoding latin1 new.realm Dog.jsonl
equal "lines of JSON: the name" 'Jörg' "$(dogs | jq -r .name)"
check_status "a byte that is no text in the encoding" 1 'Dog.csv: line 2, column 2: byte 0xF6 is not text in ascii' \
  "$realmfs" import --encoding ascii new.realm Dog.csv
check_status "a character that the end cuts" 1 'line 2, column 4: byte 0xC3 is not text in utf-16le' \
  "$realmfs" import --encoding utf-16le new.realm <(iconv -t UTF-16LE <<<$'name\nabc' | head -c -2; printf '\303') --class Dog --format csv
check_status "an encoding that does not exist" 1 'unknown encoding klingon' "$realmfs" import --encoding klingon new.realm Dog.csv
# More than one conversion buffer, with multi-byte characters across the boundaries.
fresh
python3 -c 'print("name,note\n" + "".join(f"n{i},{chr(0x10000 + i % 1000)}ä€{i}\n" for i in range(20000)), end="")' >many.csv
iconv -f UTF-8 -t UTF-16LE many.csv >Dog.csv
check "a large file" "$realmfs" import --encoding UTF-16LE new.realm Dog.csv
check "a large file: every text" diff <(tail -n +2 many.csv | cut -d, -f2) <(dogs | jq -r .note)

# Field separators.
fresh
printf 'sep=;\r\nname;good\r\nsep;1\r\n' >Dog.csv
check "a first line that names the separator" "$realmfs" import new.realm Dog.csv
printf 'name|good\nbar|0\n' >Dog.csv
check "--delimiter" "$realmfs" import --delimiter '|' new.realm Dog.csv
printf 'name\tgood\ntab\ttrue\n' >Dog.csv
check "--delimiter tab" "$realmfs" import --delimiter tab new.realm Dog.csv
equal "the objects" '["sep",true] ["bar",false] ["tab",true]' "$(dogs | jq -c '[.name, .good]' | paste -sd' ')"
printf 'name;"weight, kg"\nx;1\n' >Dog.csv
check_status "separators in quotes do not count" 1 'line 1, field "weight, kg": Dog has no property' "$realmfs" import new.realm Dog.csv
printf 'name;weight, kg\nx,1\n' >Dog.csv
check_status "what is not clear is asked for" 1 'line 1: the separator of the names is not clear: .*--delimiter' "$realmfs" import new.realm Dog.csv
check_status "a separator of two characters" 2 'neither tab, comma' "$realmfs" import --delimiter ';;' new.realm Dog.csv
check_status "--delimiter is for CSV" 1 'is read as jsonl: --delimiter' "$realmfs" import --delimiter tab new.realm Dog.jsonl

# refuses WHAT PATTERN CONTENT: an import of Dog.csv is refused with the pattern, and nothing is changed.
before=$("$realmfs" info --json new.realm | jq .version)
refuses() {
  printf '%b' "$3" >Dog.csv
  check_status "$1" 1 "Dog.csv: $2" "$realmfs" import new.realm Dog.csv
}
refuses "a bool" 'line 3, field "good": expected true or false, found "maybe"' 'name,good\nx,true\ny,maybe\n'
refuses "a bool, after a cell of two lines" 'line 4, field "good": expected true or false, found "ja"' 'name,note,good\nx,"a\nb",true\ny,z,ja\n'
refuses "a whole number" 'line 2, field "age": expected a whole number, found "1.5"' 'name,age\nx,1.5\n'
refuses "a whole number that is shown short" \
  'line 2, field "age": "1,23E\+15" is not a whole number in digits; the spreadsheet may have rounded it' 'name;age\nx;1,23E+15\n'
refuses "one with an exponent" 'line 2, field "age": "1e3" is not a whole number in digits' 'name,age\nx,1e3\n'
for number in 1,000 1.000 -12,345; do
  whole=${number//[.,]/} part=${number%%[.,]*}
  for separator in , ';' '\t'; do
    refuses "a whole number in groups, between $separator: $number" \
      "line 2, field \"age\": expected a whole number, found \"$number\", which can be $whole or $part: write it in digits alone" \
      "name${separator}age\nx${separator}\"$number\"\n"
  done
  for mark in point comma; do
    printf 'name,age\nx,"%s"\n' "$number" >Dog.csv
    check_status "also with --decimal $mark: $number" 1 "found \"$number\", which can be $whole or $part" \
      "$realmfs" import --decimal $mark new.realm Dog.csv
  done
done
refuses "millions in groups" 'line 2.* found "1,000,000"; write it in digits alone' 'name,age\nx,"1,000,000"\n'
refuses "a whole number of too many digits" 'line 2, field "age": .* is not from' 'name,age\nx,99999999999999999999\n'
refuses "a number" 'line 2, field "weight": expected a number, found "heavy"' 'name,weight\nx,heavy\n'
refuses "a number with thousands" 'line 2, field "weight": .* found "1,234.5"; write it without thousands separators' 'name,weight\nx,"1,234.5"\n'
refuses "a decimal comma where commas separate" 'line 2, field "weight": expected a number, found "1,5"' 'name,weight\nx,"1,5"\n'
refuses "thousands or a decimal comma where commas separate" \
  'line 2.* found "1,234"; write it without thousands separators, or if the comma is its decimal mark, add --decimal comma' \
  'name,weight\nx,"1,234"\n'
refuses "a number that can be read in two ways" 'line 2, field "weight": .* found "1.234", which can be read in two ways: add --decimal' 'name;weight\nx;1.234\n'
refuses "likewise with tabs" 'line 2, field "weight": .* found "1,234", which can be read in two ways' 'name\tweight\nx\t1,234\n'
refuses "a decimal" 'line 2, field "price": expected a decimal number like "1.10", found "1.1.1"' 'name,price\nx,1.1.1\n'
refuses "a date that is two" 'line 2, field "born": .*, found "01/02/2021", which can be 2021-02-01 or 2021-01-02' 'name,born\nx,01/02/2021\n'
refuses "a date of two digits" 'line 2, field "born": .*, found "01.05.24"; write days as 2024-05-01' 'name,born\nx,01.05.24\n'
refuses "a number of a day" 'line 2, field "born": .*, found "45413", perhaps the number of a day' 'name,born\nx,45413\n'
refuses "a day that does not exist" 'line 2, field "born": .* found "2023-02-29"' 'name,born\nx,2023-02-29\n'
refuses "binary data" 'line 2, field "photo": expected base64 text, found "%%%%"' 'name,photo\nx,%%%%\n'
refuses "a list" 'line 2, field "tags": expected JSON, found "a"' 'name,tags\nx,a\n'
refuses "an element of a list" 'line 2, field "tags", \[1\]: expected a string, found the number 1' 'name,tags\nx,"[""a"",1]"\n'
refuses "a link to nothing" 'line 2, field "owner": there is no Person with the primary key "7"' 'name,owner\nx,7\n'
refuses "no primary key" 'line 2, field "name": the primary key is empty' 'name,age\n,5\n'
refuses "a column that does not exist" 'line 1, field "wieght": Dog has no property of this name; did you mean weight\? it has name' 'name,wieght\nx,1\n'
refuses "a column that does not exist, without records" 'line 1, field "wieght": Dog has no property' 'name,wieght\n'
refuses "a column that stands there twice" 'line 1, field "name": the header has this name twice' 'name,name\nx,y\n'
refuses "a value without a name" 'line 3, field 2: a value, but the header has no name' 'name,\nx,\ny,z\n'
refuses "quotes without end, by the line where they begin" 'line 3: a field in quotes has no end' 'name,note\na,b\nx,"abc\ny,z\n'
refuses "text behind quotes" 'line 2, field 1: text after the closing quote' 'name,note\n"x"y,z\n'
refuses "line ends of old" "line 1: lines end in a carriage return alone" 'name,age\rx,1\ry,2\r'
refuses "a cell does not set other properties" 'line 2, field "extra": expected JSON' 'name,extra\nx,"1,""weight"":99"\n'
refuses "nor does a number" 'line 2, field "age": expected a whole number' 'name,age\nx,"1,""weight"":99"\n'
refuses "an escape sequence is shown as one" 'line 2, field "good": expected true or false, found "\\u001b\[2J"' 'name,good\nx,\033[2J\n'
equal "nothing was changed" "$before" "$("$realmfs" info --json new.realm | jq .version)"
printf 'name;weight\nx;1.234\ny;0.125\n' >Dog.csv
check "--decimal point" "$realmfs" import --decimal point new.realm Dog.csv
printf 'name\tweight\nz\t1,234\n' >Dog.csv
check "--decimal comma" "$realmfs" import --decimal comma new.realm Dog.csv
printf 'name,note,weight,age\nq,5" pipe, 7 ,-0\n' >Dog.csv
check "quotes within a cell, and blanks around a number" "$realmfs" import new.realm Dog.csv
equal "the numbers" '["x",1.234] ["y",0.125] ["z",1.234] ["q",7]' \
  "$(dogs | jq -c 'select(.name | IN("x", "y", "z", "q")) | [.name, .weight]' | paste -sd' ')"
equal "the cell with a quote" '5" pipe' "$(dogs | jq -r 'select(.name == "q").note')"

# Empty rows.
printf 'a,b,\r\nx,1,\r\n,,\r\n,,\r\n' >Free.csv
check_status "empty rows are no objects" 0 '1 created, 0 changed, 0 unchanged, 0 refused' "$realmfs" import new.realm Free.csv
printf 'k,b\n,\n' >Maybe.csv
check_status "where a primary key can be null, a row without text is one" 0 '1 created' "$realmfs" import new.realm Maybe.csv
printf 'name,age\nx,abc\ngood,5\n' >Dog.csv
check_status "--skip-bad keeps the record and the reason" 1 '1 created, 0 changed, 0 unchanged, 1 refused' \
  "$realmfs" import --skip-bad rejects new.realm Dog.csv
equal "the reject" '2 x,abc Dog.csv: line 2, field "age": expected a whole number, found "abc"' \
  "$(jq -r '"\(.line) \(.record) \(.reason)"' rejects)"

# Exported CSV is imported unchanged, whatever the names and texts.
python3 - <<'PY'
import json
names = ["a;b", "sep=;", "c\td", "\ufeffe", "x,y", 'q"z', "n\nl"]
json.dump({"schemaVersion": 0, "schema": [{"name": "Odd", "primaryKey": "_id", "properties":
    {"_id": {"type": "int"}, **{name: {"type": "string"} for name in names}}}]}, open("odd.json", "w"))
json.dump({"schemaVersion": 0, "schema": [{"name": "One", "primaryKey": "sep=;", "properties": {"sep=;": {"type": "string"}}}]},
          open("one.json", "w"))
texts = ["", ";", "\t", '"', "a;b", "{}", '{"$invalidString":{"base64":"/w=="}}', "TRUE", "1,5", "=1+1", "\ufeff", "a\r\nb", " x "]
with open("Odd.jsonl", "w") as out:
    for i, text in enumerate(texts):
        out.write(json.dumps({"_id": i, **{name: text for name in names}}) + "\n")
    # Bytes that are not UTF-8.
    out.write(json.dumps({"_id": 99, **{name: {"$invalidString": {"base64": "/2E="}} for name in names}}) + "\n")
PY
"$realmfs" create --schema odd.json odd.realm && "$realmfs" import --quiet odd.realm Odd.jsonl || not_ok "odd objects"
"$realmfs" export --quiet --format csv odd.realm odd-csv && "$realmfs" create --schema odd.json back.realm
check "odd names and texts come back" "$realmfs" import back.realm odd-csv
equal "as they were" "$("$realmfs" export odd.realm)" "$("$realmfs" export back.realm)"
equal "cat prints the same CSV" "$("$realmfs" export --format csv odd.realm)" "$("$realmfs" cat --format csv odd.realm Odd)"
equal "and query the same TSV" "$("$realmfs" export --format tsv odd.realm)" "$("$realmfs" query --format tsv odd.realm Odd)"
"$realmfs" create --schema one.json one.realm && "$realmfs" import --class One --quiet one.realm - <<<'{"sep=;":"x"}'
"$realmfs" export --quiet --format csv one.realm one-csv && "$realmfs" create --schema one.json two.realm
check "a property that is called like the line of Excel" "$realmfs" import two.realm one-csv
equal "comes back" "$("$realmfs" export one.realm)" "$("$realmfs" export two.realm)"

# A typed column has plain values, so that files can be joined: whole numbers of any size, and links by the key itself.
cat >joins.json <<'JSON'
{"schemaVersion": 0, "schema": [
  {"name": "Team", "primaryKey": "key", "properties": {"key": "string", "name": "string"}},
  {"name": "Game", "primaryKey": "id", "properties": {"id": "int", "points": "int?", "ratio": "double?", "team": "Team",
    "any": "mixed", "price": "decimal128?", "when": "date?"}}]}
JSON
"$realmfs" create --schema joins.json joins.realm
python3 - <<'PY'
import json
keys = ['a"b', "x\ny", "t\tb", '{"$ref":"Team","$id":"x"}', '{ "$x"', "{plain}", '"quoted"', "", "null", "1,5", " space", "[1]", "\u00fc"]
teams = [json.dumps({"key": key, "name": f"team {i}"}) for i, key in enumerate(keys)]
reals = [{"$numberDouble": "NaN"}, {"$numberDouble": "-Infinity"}, 0.1 + 0.2, None]
games = [json.dumps({"id": 2**62 + i, "points": -2**53 - 1 - i, "ratio": reals[i % 4], "team": key, "any": 2**53 + 1,
                     "price": "1.10", "when": "2024-05-01T10:00:00.123456Z"}) for i, key in enumerate(keys)]
open("Team.jsonl", "w").write("\n".join(teams + [""]))
open("Game.jsonl", "w").write("\n".join(games + ['{"id": 1}\n']))
PY
"$realmfs" import -q joins.realm Team.jsonl && "$realmfs" import -q joins.realm Game.jsonl || not_ok "games"
for options in "--format csv" "--format tsv" "--format csv --delimiter / --decimal point" "--format csv --delimiter = --decimal comma"; do
  rm -rf joined back.realm* && "$realmfs" create --schema joins.json back.realm
  # shellcheck disable=SC2086
  "$realmfs" export --quiet $options joins.realm joined
  # shellcheck disable=SC2086
  check "import takes $options" "$realmfs" import -q ${options#*sv} back.realm joined
  equal "and has every value" "" \
    "$(diff <("$realmfs" export --json-style canonical joins.realm) <("$realmfs" export --json-style canonical back.realm))"
done
rm -rf joined && "$realmfs" export --quiet --format csv joins.realm joined
equal "rows are joined by the key, but for those that read like links" "11 of 13" "$(python3 - <<'PY'
import csv
teams = {row["key"] for row in csv.DictReader(open("joined/Team.csv", newline=""))}
games = [row for row in csv.DictReader(open("joined/Game.csv", newline="")) if row["id"] != "1"]
assert [int(row["id"]) for row in games] == [2**62 + i for i in range(13)], games
assert [int(row["points"]) for row in games] == [-2**53 - 1 - i for i in range(13)]
assert {row["ratio"] for row in games} == {"NaN", "-Infinity", "0.30000000000000004", ""}
print(sum(row["team"] in teams for row in games), "of", len(games))
PY
)"
equal "cat prints the same CSV" "$(cat joined/Game.csv)" "$("$realmfs" cat --format csv joins.realm Game)"
equal "a table has digits" "4611686018427387904" "$("$realmfs" cat --format table joins.realm Game | awk 'NR == 3 {print $1}')"
equal "so have the least and the greatest" "-9007199254741005 4611686018427387916" \
  "$("$realmfs" query --min points joins.realm Game) $("$realmfs" query --max id joins.realm Game)"
equal "and groups, in the order of their numbers" "-9007199254741005 -9007199254741004" \
  "$("$realmfs" query --group-by points --format csv joins.realm Game | sed -n '3,4s/,.*//p' | xargs)"
equal "JSON keeps the form that readers of doubles need" '{"max(id)":{"$numberLong":"4611686018427387916"}}' \
  "$("$realmfs" query --max id --format jsonl joins.realm Game)"

# Unambiguous forms of dates and times.
fresh
python3 - >Dog.csv <<'PY'
days = ["2024-01-31", "2024-01-31T10:00:00.5Z", "2024-01-31T10:00:00+02:00", "2024-01-31 09:05", "2024/1/31", "31.1.2024",
        "01.02.2024", "31/01/2024", "1/31/2024 9:05", "31-01-2024 09:05:07", "1/31/2024 9:05:07 PM", "02/02/2024", "31.1.2024 12:00 am"]
print("name,born")
for i, day in enumerate(days):
    print(f"d{i:02},{day}")
PY
check "days and times" "$realmfs" import new.realm Dog.csv
equal "as moments in UTC" "2024-01-31T00:00:00Z 2024-01-31T10:00:00.500Z 2024-01-31T08:00:00Z 2024-01-31T09:05:00Z \
2024-01-31T00:00:00Z 2024-01-31T00:00:00Z 2024-02-01T00:00:00Z 2024-01-31T00:00:00Z 2024-01-31T09:05:00Z \
2024-01-31T09:05:07Z 2024-01-31T21:05:07Z 2024-02-02T00:00:00Z 2024-01-31T00:00:00Z" "$(dogs | jq -r .born | paste -sd' ')"

# CSV and TSV preserve everything: all types, nulls, lists, with any separator and decimal mark.
round_trip() {
  local fixture=$1 export=$2 import=$3 copy=$scratch/copy.realm
  rm -rf "$copy"* csv
  "$realmfs" schema "$fixtures/$fixture.realm" >types.json && "$realmfs" create --schema types.json "$copy" &&
    eval "\"\$realmfs\" export --quiet $export \"\$fixtures/\$fixture.realm\" csv" &&
    eval "\"\$realmfs\" import --quiet $import \"\$copy\" csv" || not_ok "$fixture: $export"
  equal "$fixture comes back from $export" "" \
    "$(diff <("$realmfs" export --json-style canonical "$fixtures/$fixture.realm") <("$realmfs" export --json-style canonical "$copy"))"
}
for fixture in all-types people strings embedded primary-keys; do
  round_trip $fixture "--format csv" ""
  round_trip $fixture "--format tsv" ""
  round_trip $fixture "--format csv --delimiter ';' --decimal comma" "--decimal comma"
  round_trip $fixture "--format csv --delimiter '|'" "--delimiter '|' --decimal point"
  round_trip $fixture "--format csv --delimiter tab --decimal comma" "--decimal comma"
  round_trip $fixture "--format csv --decimal comma" "--decimal comma"
done
check_status "--delimiter is for CSV" 2 '--delimiter is for --format csv' "$realmfs" export --delimiter tab "$fixtures/people.realm" out
check_status "a byte order mark against --encoding" 1 'begins with the byte order mark of UTF-8, not latin1' \
  "$realmfs" import --encoding latin1 new.realm <(printf '\xef\xbb\xbfname\nx\n') --class Dog --format csv
check_status "a class that does not exist, without records" 1 'Cat.csv: line 1: no class Cat' \
  bash -c 'echo name >Cat.csv; "$1" import new.realm Cat.csv' - "$realmfs"
