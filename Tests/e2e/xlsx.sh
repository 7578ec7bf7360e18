#!/usr/bin/env bash
# `realmfs export FILE OUT.xlsx`: every cell of every sample is what `cat` prints, and the limits of the format lose
# nothing without a word.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
reader=$repository/Tests/e2e/xlsx.py
for file in "$fixtures"/*.realm; do
  name=$(basename "$file" .realm)
  options=()
  [[ $file != *encrypted* ]] || options=(--key-file "$key_file")
  "$realmfs" export --quiet "${options[@]}" "$file" "$name.xlsx" 2>notes
  status=$?
  case $status in
    0) check "$name: cell by cell" python3 "$reader" "$realmfs" "$file" "$name.xlsx" "${options[@]}" ;;
    1) check "$name: what is left out is named" grep -q 'characters, a cell 32767 at most; it was left out' notes ;;
    *) not_ok "$name: status $status: $(head -c 300 notes)" ;;
  esac
done

cat >schema.json <<'JSON'
{"schemaVersion": 0, "schema": [
  {"name": "Edge", "primaryKey": "i", "properties": {"i": "int", "d": "double?", "f": "float?", "s": "string?",
    "t": "date?", "m": "mixed", "n": "decimal128?", "l": "string[]"}},
  {"name": "History", "properties": {"a": "int"}},
  {"name": "AVeryLongNameOfAClassThatNoSheetCanHaveOne", "properties": {"a": "int"}},
  {"name": "AVeryLongNameOfAClassThatNoSheetCanHaveTwo", "properties": {"a": "int"}}
]}
JSON
"$realmfs" create --schema schema.json edge.realm
python3 - >edge.jsonl <<'PY'
import json
values = [
    dict(i=2**53), dict(i=2**53 + 1), dict(i=-2**53), dict(i=-2**53 - 1), dict(i=2**63 - 1), dict(i=-2**63),
    dict(i=1, d=0.1 + 0.2), dict(i=2, d=1e308, f=0.1), dict(i=3, d=5e-324), dict(i=4, d=1.7976931348623157e308),
    dict(i=5, s="a_x0041_b\u0001\r\n\ttab "), dict(i=6, s="=1+1"), dict(i=7, s="_x005F_"), dict(i=8, s=" \ufffe\uffff\u007f"),
    dict(i=9, t="1900-02-28T23:59:59Z"), dict(i=10, t="1900-03-01T00:00:00Z"), dict(i=11, t="9999-12-31T23:59:59.999Z"),
    dict(i=12, t="2024-05-01T10:00:00.123Z"), dict(i=13, t="2024-05-01T10:00:00.123456Z"), dict(i=14, t="1583-01-01T00:00:00Z"),
    dict(i=15, s="null"), dict(i=16, s='{"a":1}'), dict(i=17, s="\"q\""), dict(i=18, m="12"), dict(i=19, m=12),
    dict(i=20, n={"$numberDecimal": "0.10"}), dict(i=21, l=["a", None and "", "b"][:1]), dict(i=22, s="𝄞" * 16383),
    dict(i=23, s="x" * 32767), dict(i=24, s="12"), dict(i=25, d=-0.0), dict(i=26, s="\u0000a\u0000"),
]
for value in values: print(json.dumps(value))
PY
check "the edges of each type" "$realmfs" import --quiet --class Edge edge.realm edge.jsonl
check_status "classes whose names no sheet can have are told" 0 "the sheet of class History is called History_" \
  "$realmfs" export edge.realm edge.xlsx
check "cell by cell" python3 "$reader" "$realmfs" edge.realm edge.xlsx
equal "formulas are text" "<t>=1+1</t>" "$(unzip -p edge.xlsx xl/worksheets/sheet1.xml 2>/dev/null | grep -o '<t>=1+1</t>' ||
  python3 -c 'import zipfile,re; print(re.search("<t>=1\\+1</t>", zipfile.ZipFile("edge.xlsx").read("xl/worksheets/sheet1.xml").decode())[0])')"
"$realmfs" insert --quiet edge.realm Edge i=30 s="$(head -c 32768 /dev/zero | tr '\0' y)"
check_status "a text that fits no cell is left out and named" 1 \
  'Edge object [0-9]+: s has 32768 characters, a cell 32767 at most; it was left out' "$realmfs" export edge.realm long.xlsx
check_status "and counted" 1 ', 1 values left out' "$realmfs" export edge.realm longer.xlsx
check_status "an existing file is refused" 1 'exists and stays' "$realmfs" export edge.realm edge.xlsx
check_status "standard output is none" 2 'needs a name' "$realmfs" export --format xlsx edge.realm
check_status "a full disk" 1 'No space left|cannot|rror' bash -c \
  'mkdir full && mount -t tmpfs -o size=64k tmpfs full 2>/dev/null || { echo "No space left: not root"; exit 1; }
   "$1" export "$2" full/items.xlsx; status=$?; ls full | wc -l; umount full; exit $status' - "$realmfs" "$fixtures/items-10k.realm"
for damaged in "$fixtures"/damaged/*.realm; do
  name=$(basename "$damaged" .realm)
  timeout 60 "$realmfs" export --quiet "$damaged" "damaged-$name.xlsx" >out 2>&1
  status=$?
  case $status in
    0 | 1 | 4 | 5 | 6 | 7) ok "damaged/$name ends with $status" ;;
    *) not_ok "damaged/$name: status $status: $(head -c 300 out)" ;;
  esac
done
