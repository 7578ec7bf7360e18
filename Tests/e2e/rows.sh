#!/usr/bin/env bash
# `cat` and `query` in every form: JSON Lines and arrays, CSV, TSV and tables; columns along paths; sums and groups; output
# on a terminal.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
file=$fixtures/people.realm
q() { "$realmfs" query "$@"; }
equal "without a query all objects" "$("$realmfs" cat "$file" Person)" "$(q "$file" Person)"
equal "an array" "$("$realmfs" cat "$file" Person | jq -s -c .)" "$("$realmfs" cat --format json "$file" Person | jq -c .)"
equal "an empty array" "[]" "$(q --format json "$file" Dog 'name == "x"' | jq -c .)"
equal "CSV is that of export" "$("$realmfs" export --format csv --class Person "$file")" "$("$realmfs" cat --format csv "$file" Person)"
equal "TSV has tabs" $'name\tweight\tgood' "$("$realmfs" cat --format tsv "$file" Dog | head -1)"
equal "and as many fields" "3" "$("$realmfs" cat --format tsv "$file" Dog | awk -F'\t' '{print NF}' | sort -u)"
for item in "$fixtures"/*.realm; do
  name=$(basename "$item" .realm) options=()
  [[ $name != *encrypted* ]] || options=(--key-file "$key_file")
  while IFS= read -r class; do
    lines=$("$realmfs" cat "${options[@]}" "$item" "$class" | wc -l)
    equal "$name/$class: an array of all" "$lines" "$("$realmfs" cat "${options[@]}" --format json "$item" "$class" | jq length)"
    "$realmfs" export "${options[@]}" --format csv --class "$class" "$item" >exported.csv
    "$realmfs" cat "${options[@]}" --format csv "$item" "$class" >printed.csv
    check "$name/$class: CSV as export has it" cmp exported.csv printed.csv
    equal "$name/$class: a table" "$((lines + 2))" "$("$realmfs" cat "${options[@]}" --format table "$item" "$class" | wc -l)"
  done < <("$realmfs" cat "${options[@]}" "$item")
done

# columns
equal "columns in their order" '{"age":21,"name":"Person 1","dog.name":"Fido","friends.@count":1}' \
  "$(q --columns age,name,dog.name --columns friends.@count "$file" Person '_id == 4')"
equal "a path over several objects is an array" '{"friends.name":["Person 3"]}' "$(q --columns friends.name "$file" Person '_id == 4')"
equal "backwards" '{"@links.Person.dog.@count":2}' "$(q --columns '@links.Person.dog.@count' "$file" Dog 'name == "Fido"')"
equal "a link to nothing is null" '{"dog.name":null}' "$(q --columns dog.name "$file" Person '_id == -3')"
bella="Bella \"B\" O'Hara/Jr."
for words in "--columns dog" "--columns dog.name" "--group-by dog" "--group-by dog.name"; do
  # shellcheck disable=SC2086
  check_status "a table has names as they are: $words" 0 "^$bella( +2)?$" q --format table $words "$file" Person
done
check_status "2: an unknown column" 2 '--columns dog.nam: Dog has no property nam; did you mean name' q --columns dog.nam "$file" Person
check_status "2: twice" 2 'age is given twice' q --columns age,age "$file" Person

# sums and groups
all() { "$realmfs" cat "$file" Person | jq -s "$1"; }
equal "--count" "19" "$(q --count "$file" Person)"
equal "--sum" "$(all 'map(.age // 0) | add')" "$(q --sum age "$file" Person)"
equal "--avg leaves null out" "$(all 'map(.age | select(. != null)) | add / length')" "$(q --avg age "$file" Person)"
equal "--min and --max" "$(all 'map(.age | select(. != null)) | [min, max] | {"min(age)": .[0], "max(age)": .[1]}' | jq -c .)" \
  "$(q --min age --max age "$file" Person)"
equal "a date bare" "$(all 'map(.joined) | max' | jq -r .)" "$(q --max joined "$file" Person)"
equal "of what a query finds" "1" "$(q --count "$file" Person 'age == 21')"
equal "--group-by" "$(all 'group_by(.dog) | map({dog: .[0].dog, count: length}) | .[]' | jq -c .)" "$(q --group-by dog "$file" Person)"
equal "along a path" "$(all 'map(.dog) | map(select(. == "Fido")) | length')" \
  "$(q --group-by dog.name --count --format csv "$file" Person | sed -n 's/^Fido,//p')"
equal "groups of nothing" "" "$(q --group-by dog "$file" Person 'age == 1000')"
equal "the sum of nothing" "0" "$(q --sum age "$file" Person 'age == 1000')"
equal "the least of nothing" "null" "$(q --min age "$file" Person 'age == 1000')"
check_status "2: a sum of texts" 2 '--sum name: sum needs a property of numbers' q --sum name "$file" Person
check_status "2: columns of a sum" 2 '--columns cannot be used with --sum' q --sum age --columns name "$file" Person
big=$(copy_fixture people)
"$realmfs" set -q "$big" Person/4 age=9223372036854775807
check_status "a sum beyond 64 bits is refused" 1 'sum\(age\): the sum does not fit 64 bits' q --sum age "$big" Person
"$realmfs" set -q "$big" Person/4 $'name=\e[31mred\n\u202eabc'

# tables
equal "numbers stand on the right" " -3" "$(q --format table --columns _id "$file" Person '_id IN {-3, 116}' | sed -n 3p)"
equal "control characters are shown" '\u001b[31mred\u000a\u202eabc' "$(q --format table --columns name "$big" Person '_id == 4' | tail -1)"
check_status "also in a terminal" 0 'u001b.31mred' script -qec "'$realmfs' query --columns name '$big' Person '_id == 4'" /dev/null
equal "in a pipe nothing is cut" "2020-10-02T12:26:40.000019Z" "$(q --format table --columns joined "$file" Person '_id == 130' | tail -1)"
equal "null is blank, the empty text is not" '[]' "$("$realmfs" set -q "$big" Person/4 email= && q --format table --columns email "$big" Person '_id == 4' | tail -1 | grep -c '""' | sed 's/1/[]/')"
if command -v script >/dev/null; then
  for width in 20 40 80 200; do
    script -qec "stty cols $width; '$realmfs' cat '$file' Person" /dev/null | tr -d '\r' >table
    equal "on a terminal of $width columns a table that fits" "ok" "$(python3 - "$width" table <<'PYTHON'
import sys, unicodedata
lines = open(sys.argv[2], encoding="utf-8").read().splitlines()
def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
rows = [line for line in lines if not line.startswith("realmfs: ")]
wide = [line for line in rows if width(line) > int(sys.argv[1])]
print("ok" if len(rows) == 21 and rows[1].startswith("---") and not wide else (len(rows), wide))
PYTHON
)"
  done
  # If more than half of the columns do not fit, each object is a record.
  script -qec "stty cols 16; '$realmfs' cat '$file' Person" /dev/null | tr -d '\r' >table
  equal "on a narrow terminal records are one below the other" \
    '-[ 2 ]----|_id      4|name     Person…|age      21|email    p1@exa…|dog      Fido|friends  [18]|joined   2020-0…' \
    "$(sed -n 9,16p table | paste -sd'|')"
  equal "all of them, with all columns" "152 19" "$(grep -c . table) $(grep -c '^-\[' table)"
  equal "and in a pipe a table stays a table" 21 "$("$realmfs" cat --format table "$file" Person | wc -l)"
  "$realmfs" insert -q "$big" Dog '{"name": "犬犬犬犬犬犬犬犬犬犬犬犬犬犬犬犬犬犬犬犬"}' '{"name": "👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧"}'
  script -qec "stty cols 30; '$realmfs' cat '$big' Dog" /dev/null | tr -d '\r' >table
  check "wide characters are cut by the columns they take" grep -qE '^犬{7}… *0\.0' table
  check_status "cat without a class lists them, and says what to type" 0 "print a class with 'realmfs cat .*people.realm Dog'" \
    script -qec "'$realmfs' cat '$file'" /dev/null
else
  skip "script(1) is absent: nothing was shown on a terminal"
fi
equal "and elsewhere only their names" $'Dog\nPerson' "$("$realmfs" cat "$file")"
equal "in an encrypted file" "Dog Person" "$("$realmfs" cat --key-file "$key_file" "$fixtures/people-encrypted.realm" | xargs)"

# damage: every form ends
for item in "$fixtures"/damaged/export-*.realm; do
  for format in json csv table; do
    while IFS= read -r class; do
      timeout 60 bash -c "ulimit -v 8000000; exec '$realmfs' cat --format $format '$item' '$class'" >out 2>messages
      status=$?
      [ $status -le 8 ] || not_ok "$(basename "$item"): $class as $format ended with $status: $(head -c 300 messages)"
    done < <("$realmfs" cat "$item" 2>/dev/null)
  done
done
ok "damaged realms end by themselves in every form"
