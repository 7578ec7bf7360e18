#!/usr/bin/env bash
# `realmfs export FILE OUT.xlsx`: every cell of every sample equals the output of `cat`, and values that exceed the limits
# of the format are reported.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
reader=$repository/Tests/e2e/xlsx.py
for file in "$fixtures"/*.realm; do
  name=$(basename "$file" .realm)
  options=()
  [[ $file != *encrypted* ]] || options=(--key-file "$key_file")
  "$realmfs" export "${options[@]}" "$file" "$name.xlsx" 2>notes
  status=$?
  cp notes "$name.xlsx.notes"
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
rm edge.xlsx && "$realmfs" export edge.realm edge.xlsx 2>edge.xlsx.notes
check "cell by cell" python3 "$reader" "$realmfs" edge.realm edge.xlsx
check "numbers that are rounded are told" grep -q 'Edge.d: 1 number is rounded to 16 digits' edge.xlsx.notes
check "a number that no sheet has is text, and told" grep -q 'Edge.d: 1 value is text: NaN, infinite or too large' edge.xlsx.notes
check "a column with a number beyond 2^53 is text" grep -q 'Edge.i is text: a spreadsheet would round numbers beyond' edge.xlsx.notes
check "a column with a date that no sheet has is text" grep -q 'Edge.t is text: a spreadsheet has no dates before 1900' edge.xlsx.notes

# One type for each column, and the layout: widths, a bold header, a filter, dates in a suitable form.
cat >look.json <<'JSON'
{"schemaVersion": 0, "schema": [{"name": "Look", "primaryKey": "id", "properties": {"id": "int", "day": "date?",
  "second": "date?", "milli": "date?", "some": "date?", "all": "date?", "text": "string?"}}]}
JSON
"$realmfs" create --schema look.json look.realm
"$realmfs" import -q --class Look look.realm - <<'JSONL'
{"id": 1, "day": "2024-05-01T00:00:00Z", "second": "2024-05-01T10:00:00Z", "milli": "2024-05-01T10:00:00.500Z", "some": "2024-05-01T10:00:00.1234567Z", "all": "2024-05-01T10:00:00.1234567Z", "text": "a longer text than most"}
{"id": 2, "day": "2024-05-02T00:00:00Z", "second": "2024-05-01T00:00:00Z", "milli": "2024-05-01T10:00:00Z", "some": "2024-05-01T10:00:00Z", "all": "2024-05-01T10:00:00.000001Z", "text": null}
JSONL
"$realmfs" export look.realm look.xlsx 2>look.xlsx.notes
check "dates: cell by cell" python3 "$reader" "$realmfs" look.realm look.xlsx
check "dates that are rounded are told" grep -q 'Look.some: 1 date is rounded to milliseconds' look.xlsx.notes
check "dates that are all finer are text" grep -q 'Look.all is text: its dates are finer than milliseconds' look.xlsx.notes
equal "the look of a sheet" "bold A1:G3 yyyy-mm-dd yyyy-mm-dd hh:mm:ss yyyy-mm-dd hh:mm:ss.000 yyyy-mm-dd hh:mm:ss.000 24" "$(python3 - <<'PY'
import re, zipfile
archive = zipfile.ZipFile("look.xlsx")
sheet, styles = archive.read("xl/worksheets/sheet1.xml").decode(), archive.read("xl/styles.xml").decode()
formats = dict(re.findall(r'<numFmt numFmtId="(\d+)" formatCode="([^"]+)"', styles))
cells = re.findall(r"<xf ([^>]*)", styles.split("<cellXfs")[1].split("</cellXfs>")[0])
def style(reference): return cells[int(re.search(rf'<c r="{reference}" s="(\d+)"', sheet)[1])]
fonts = styles.split("<fonts")[1].split("</font>")
is_bold = "<b/>" in fonts[int(re.search(r'fontId="(\d+)"', style("A1"))[1])]
dates = [formats[re.search(r'numFmtId="(\d+)"', style(c + "2"))[1]] for c in "BCDE"]
print("bold" if is_bold else "plain", re.search(r'<autoFilter ref="([^"]+)"', sheet)[1], *dates,
      int(float(re.search(r'min="7" max="7" width="([^"]+)"', sheet)[1])))
PY
)"
equal "formulas are text" "<t>=1+1</t>" "$(unzip -p edge.xlsx xl/worksheets/sheet1.xml 2>/dev/null | grep -o '<t>=1+1</t>' ||
  python3 -c 'import zipfile,re; print(re.search("<t>=1\\+1</t>", zipfile.ZipFile("edge.xlsx").read("xl/worksheets/sheet1.xml").decode())[0])')"
"$realmfs" insert --quiet edge.realm Edge i=30 s="$(head -c 32768 /dev/zero | tr '\0' y)"
check_status "a text that fits no cell is left out and named" 1 \
  'Edge object [0-9]+: s has 32768 characters, a cell 32767 at most; it was left out' "$realmfs" export edge.realm long.xlsx
check_status "and counted" 1 ', 1 value left out' "$realmfs" export edge.realm longer.xlsx
check_status "an existing file is refused" 1 'already exists' "$realmfs" export edge.realm edge.xlsx
check_status "standard output is none" 2 'needs the name of an output file' "$realmfs" export --format xlsx edge.realm
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
