#!/usr/bin/env bash
# `realmfs export`: every format contains all objects of the realm, and appears completely or not at all.
source "$(dirname "$0")/lib.sh"

with_key() { [[ $1 != *encrypted* ]] || printf '%s\n' --key-file "$key_file"; }

for file in "$fixtures"/*.realm; do
  name=$(basename "$file" .realm)
  mapfile -t options < <(with_key "$name")
  out=$(new_directory "$name")
  check "$name: json" "$realmfs" export "${options[@]}" --format json "$file" "$out/json"
  point=$(new_directory "$name/mnt")
  "$realmfs" mount --read-only "${options[@]}" "$file" "$point" || not_ok "mount $name"
  check "$name: the tree is that of a mount, byte by byte" diff -r "$out/json" "$point"
  "$realmfs" umount "$point"
  check "$name: jsonl" "$realmfs" export "${options[@]}" --format jsonl "$file" "$out/jsonl"
  wrong=0
  for class in $("$realmfs" schema "${options[@]}" "$file" | jq -r '.schema[] | select(.embedded | not) | .name | @base64'); do
    class=$(base64 -d <<<"$class")
    "$realmfs" cat "${options[@]}" "$file" "$class" |
      cmp -s - <(sed -E 's/^\{"\$key":[0-9]+,?/{/' "$out/jsonl/$class.jsonl") || wrong=$((wrong + 1))
  done
  equal "$name: the lines are those of cat" "0" "$wrong"
  check "$name: csv" "$realmfs" export "${options[@]}" --format csv "$file" "$out/csv"
  check "$name: csv has a record for each object" python3 - "$out" <<'PY'
import csv, glob, os, sys
csv.field_size_limit(1 << 30)
for path in glob.glob(sys.argv[1] + "/csv/*.csv"):
    lines = open(path.replace("/csv/", "/jsonl/")[:-4] + ".jsonl", "rb").read().count(b"\n")
    text = open(path, "rb").read().replace(b"\0", b"0").decode("latin1")
    records = list(csv.reader(text.splitlines(keepends=True)))
    assert len(records) == lines + 1, (path, len(records), lines)
    assert all(len(record) == len(records[0]) for record in records), path
PY
  check "$name: sqlite" "$realmfs" export "${options[@]}" --format sqlite --verify "$file" "$out/db"
  check "$name: the database is sound, its links lead to objects, its tables are full" python3 - "$out" <<'PY'
import glob, os, sqlite3, sys
db = sqlite3.connect(sys.argv[1] + "/db")
assert db.execute("pragma integrity_check").fetchall() == [("ok",)]
assert db.execute("pragma foreign_key_check").fetchall() == []
for path in glob.glob(sys.argv[1] + "/jsonl/*.jsonl"):
    table = os.path.basename(path)[:-6].replace('"', '""')
    count = db.execute(f'select count(*) from "{table}"').fetchone()[0]
    assert count == open(path, "rb").read().count(b"\n"), (path, count)
PY
done
if [ -d "$shared/fixtures/sdk" ]; then
  for file in "$shared"/fixtures/sdk/*.realm; do
    out=$(new_directory "sdk/$(basename "$file" .realm)")
    for format in json jsonl csv sqlite; do
      check "$(basename "$file"): $format" "$realmfs" export --format $format "$file" "$out/$format"
    done
  done
else
  skip "../shared/fixtures is absent: formats below 24 were not exported"
fi

cd "$scratch" || exit 1
file=$fixtures/people.realm
equal "several classes in one stream are told apart" "5 Dog 19 Person" \
  "$("$realmfs" export "$file" | jq -r '."$class"' | sort | uniq -c | xargs)"
equal "one class needs no mark" "$("$realmfs" cat "$file" Dog)" "$("$realmfs" export --class Dog "$file" -)"
equal "links of a database can be joined" "Fido" "$("$realmfs" export --format sqlite "$file" people.db && python3 -c '
import sqlite3
print(sqlite3.connect("people.db").execute(
    "select Dog.name from Person join Dog on Person.dog = Dog._key where Person._id = 4").fetchone()[0])')"
equal "--verify counts and hashes both sides" "Dog 5 0 5 true Person 19 39 19 true 0" \
  "$("$realmfs" export --verify --json "$file" verified.db 2>/dev/null |
    jq -r '[(.classes[] | .name, .realm.objects, .realm.elements, .database.objects, .same), .danglingLinks] | join(" ")')"
check_status "in words" 0 '^Person +19 objects, 39 elements of collections, hash [0-9a-f]{16}; database: identical$' \
  "$realmfs" export --verify "$file" words.db
check_status "links to what was not exported are counted" 0 '^links +1[0-9]* lead to objects that were not exported' \
  "$realmfs" export --verify --class Person --where '_id == 4' "$file" few.db
check_status "--verify needs a database" 2 'for SQLite databases' "$realmfs" export --verify "$file" other.csv
for damaged in "$fixtures"/damaged/*.realm; do
  name=$(basename "$damaged" .realm)
  timeout 60 "$realmfs" export --quiet --verify --json "$damaged" "damaged-$name.db" >report.json 2>/dev/null
  status=$?
  case $status in
    0 | 4 | 5 | 6 | 7) ok "--verify of damaged/$name ends with $status" ;;
    *) not_ok "--verify of damaged/$name: status $status" ;;
  esac
  [ ! -s report.json ] || equal "what could be read of damaged/$name is in the database" "true" "$(jq '[.classes[].same] | all' report.json)"
done
check_status "a database that exists is refused" 1 'people.db already exists' "$realmfs" export --format sqlite "$file" people.db
check_status "a line says what was done" 0 '^realmfs: counted: 24 objects of 2 classes$' "$realmfs" export "$file" counted
check_status "and of what" 0 '^realmfs: few: 1 object of 1 class$' \
  "$realmfs" export --class Dog --where 'name == "Rex"' --format csv "$file" few
equal "with --quiet there is none" "" "$("$realmfs" export --quiet "$file" quiet 2>&1)"
equal "nor with a stream" "" "$("$realmfs" export "$file" 2>&1 >/dev/null)"
mkdir occupied vacant && touch occupied/x
check_status "a directory with files is refused" 1 'occupied is not empty' "$realmfs" export "$file" occupied
check "an empty directory is filled" "$realmfs" export "$file" vacant
check_status "a database needs a file" 2 'needs the name of an output file' "$realmfs" export --format sqlite "$file"
check_status "a file of CSV has one class" 1 'choose one with --class' "$realmfs" export "$file" all.csv
equal "that of its name" "$("$realmfs" export --format csv --class Dog "$file")" \
  "$("$realmfs" export --quiet "$file" Dog.csv && cat Dog.csv && rm Dog.csv)"
check_status "and it is not left behind" 2 'No such file' ls all.csv

# A suffix in the name selects the format, and a single file.
for suffix in jsonl ndjson csv tsv json; do
  check "a name in .$suffix" "$realmfs" export --quiet --class Dog "$file" Dog.$suffix
done
equal "lines of JSON in a file" "$("$realmfs" export --class Dog "$file")" "$(cat Dog.jsonl)"
check ".ndjson likewise" cmp Dog.jsonl Dog.ndjson
equal "CSV in a file" "$("$realmfs" export --format csv --class Dog "$file")" "$(cat Dog.csv)"
equal "TSV in a file" "$("$realmfs" export --format csv --delimiter tab --class Dog "$file")" "$(cat Dog.tsv)"
equal "JSON in a file is an array" "$("$realmfs" export --class Dog "$file" | jq -s -c .)" "$(jq -c . Dog.json)"
equal "and in a stream" "$(cat Dog.json)" "$("$realmfs" export --format json --class Dog "$file")"
equal "of nothing it is empty" "[]" "$("$realmfs" export --format json --class Dog --where FALSEPREDICATE "$file")"
for name in all.jsonl all.json; do
  check "all classes in $name" "$realmfs" export --quiet "$file" $name
  "$realmfs" schema "$file" | "$realmfs" create --schema - "$name.realm"
  check "$name can be imported" "$realmfs" import --quiet "$name.realm" $name
  equal "$name comes back" "$("$realmfs" export "$file")" "$("$realmfs" export "$name.realm")"
done
for name in all.sqlite all.sqlite3 all.db; do
  check "a database $name" "$realmfs" export --quiet "$file" $name
  equal "$name is one" "5" "$(python3 -c "import sqlite3; print(sqlite3.connect('$name').execute('select count(*) from Dog').fetchone()[0])")"
done
check_status "a file that exists is refused" 1 'Dog.csv already exists' "$realmfs" export --class Dog "$file" Dog.csv
check "--format says otherwise" "$realmfs" export --quiet --format json "$file" tree.d
check "and makes a tree" test -f tree.d/Dog/Rex.json
check "a directory, by a slash" "$realmfs" export --quiet "$file" lines.csv/
check "which is one of lines" test -f lines.csv/Dog.jsonl
check_status "a stream of CSV has one class" 1 'choose one with --class' "$realmfs" export --format csv "$file"
check_status "a class that does not exist" 3 'no class Cat; it has Dog, Person' "$realmfs" export --class Cat "$file"
equal "what failed left nothing" "" "$(find . -maxdepth 1 -name '.realmfs-*')"
message=$({ "$realmfs" export "$fixtures/items-10k.realm" | head -1 >/dev/null; } 2>&1)
equal "a closed pipe ends it quietly" "" "$message"

# Only the damaged object is missing.
python3 - "$fixtures/items-10k.realm" damaged.realm <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
# The strings of some objects: a node in the middle of the file loses its header.
position = len(data) // 2 & ~7
while data[position:position + 4] != b"AAAA":
    position += 8
data[position:position + 8] = b"\xff" * 8
open(sys.argv[2], "wb").write(data)
PY
for format in jsonl json csv sqlite; do
  "$realmfs" export --format $format damaged.realm damaged-$format 2>errors
  equal "a damaged file, $format: exit code 4" "4" $?
  check "a damaged file, $format: what is left out is told" grep -q 'damaged' errors
done
whole=$("$realmfs" export "$fixtures/items-10k.realm" | wc -l) rest=$(cat damaged-jsonl/*.jsonl | wc -l)
check "a damaged file: most objects are there ($rest of $whole)" test "$rest" -gt $((whole / 2)) -a "$rest" -lt "$whole"
equal "a damaged file: the tree has the same objects" "$rest" "$(find damaged-json -type f | wc -l)"

# Ctrl-C leaves nothing.
"$realmfs" export --format json "$fixtures/items-10k.realm" interrupted &
process=$!
is_staged() { compgen -G '.realmfs-*'; }
wait_until 5 is_staged
kill -TERM $process 2>/dev/null
wait $process
status=$?
if [ $status -eq 0 ]; then skip "the export was faster than the signal"; else
  equal "SIGTERM ends it by the signal" "143" "$status"
  equal "and leaves nothing" "" "$(find . -maxdepth 1 -name '.realmfs-*' -o -maxdepth 1 -name interrupted)"
fi

# A user who may rename folders beside the result cannot redirect the output: only the first step uses the name of
# the temporary folder.
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  by_name() { grep -oE '"[^"]*\.realmfs-[^"/]*/[^"]*"' "$1" | sort -u; }
  for format in sqlite xlsx jsonl json; do
    strace -f -o trace -e trace=%file "$realmfs" export --format $format "$fixtures/people.realm" "traced.$format" 2>/dev/null
    equal "$format: no file is opened by the name of a temporary folder" "" "$(by_name trace)"
  done
  "$realmfs" schema "$fixtures/people.realm" >people.json
  strace -f -o trace -e trace=%file "$realmfs" create --schema people.json traced.realm 2>/dev/null
  equal "create: neither" "" "$(by_name trace)"
  check_status "and makes a sound realm" 0 sound "$realmfs" check traced.realm
else
  skip "strace is absent"
fi
