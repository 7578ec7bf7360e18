#!/usr/bin/env bash
# `realmfs import FILE BOOK.xlsx`: an export comes back, except for what the export reported; spreadsheets as other programs
# write them; damaged and hostile ones.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit
for name in embedded name-limits nested leaf-states streaming-form items-10k; do
  file=$fixtures/$name.realm
  "$realmfs" schema "$file" >schema.json
  "$realmfs" export --quiet "$file" "$name.xlsx" 2>/dev/null
  "$realmfs" create --schema schema.json "$name.realm"
  check "$name" "$realmfs" import "$name.realm" "$name.xlsx"
  "$realmfs" export --quiet --format json "$file" "$name.before"
  "$realmfs" export --quiet --format json "$name.realm" "$name.after"
  check "$name: the tree is the one before" diff -r "$name.before" "$name.after"
  equal "$name: once more changes nothing" "0 0" \
    "$("$realmfs" import --json "$name.realm" "$name.xlsx" | jq -r '"\(.created) \(.changed)"')"
done
file=$fixtures/all-types.realm
"$realmfs" schema "$file" >schema.json
"$realmfs" export --quiet "$file" all.xlsx 2>/dev/null
"$realmfs" create --schema schema.json all.realm
check "values of every type" "$realmfs" import --quiet all.realm all.xlsx
# The export reports doubles of 17 digits and empty strings; -0.0 is 0 in a sheet.
plain() { sed 's/0\.30000000000000004/0.3/g; s/-0\.0\b/0.0/g; s/\("[a-z]*Opt":\)""/\1null/g'; }
"$realmfs" export "$file" - | plain >before
"$realmfs" export all.realm - | plain >after
equal "are the same, except for those that the export reported" "" "$(diff before after | head -c 600)"

python3 "$repository/Tests/e2e/import_xlsx.py" books || not_ok "the spreadsheets"
cat >schema.json <<'END'
{"schemaVersion": 0, "schema": [
  {"name": "Person", "primaryKey": "id", "properties": {"id": "int", "name": "string?", "born": "date?", "vip": "bool?", "amount": "double?"}},
  {"name": "Pet", "primaryKey": "name", "properties": {"name": "string", "owner": "Person"}}]}
END
for book in book stored prefixed; do
  "$realmfs" create --schema schema.json $book.realm
  check_status "$book: several sheets, with shared strings, formulas and styles" 0 '6 created' "$realmfs" import $book.realm books/$book.xlsx
  equal "$book: the objects" "$(cat <<'END'
{"id":1,"name":"Größe &  A𝄞","born":"2024-05-01T00:00:00Z","vip":true,"amount":0.30000000000000004}
{"id":2,"name":"東京","born":"2024-05-01T10:00:00Z","vip":null,"amount":-0.0015}
{"id":3,"name":"","born":"1900-01-01T00:00:00Z","vip":false,"amount":null}
{"id":1000,"name":"sum","born":"2024-05-01T10:00:00Z","vip":null,"amount":12.0}
{"id":5,"name":"a,\"<b>\"\n2nd","born":null,"vip":null,"amount":null}
END
)" "$("$realmfs" cat $book.realm Person)"
  equal "$book: a sheet whose name differs in case" '{"name":"Rex","owner":1}' "$("$realmfs" cat $book.realm Pet)"
done
check_status "--dry-run shows the classes of the sheets" 0 '^sheet pet: class Pet$' "$realmfs" import --dry-run book.realm books/book.xlsx
check_status "--class selects a sheet" 0 '0 created, 0 changed, 1 unchanged' "$realmfs" import --class Pet book.realm books/book.xlsx
check_status "an unknown sheet is named" 1 'no sheet Dog; .*Person, pet' "$realmfs" import --class Dog book.realm books/book.xlsx
check_status "a single sheet of any name goes into the class given" 0 '2 created' "$realmfs" import --class Pet book.realm books/alone.xlsx
check_status "otherwise its name must be a class" 1 'sheet Sheet1: row 2: no class Sheet1' "$realmfs" import book.realm books/alone.xlsx
"$realmfs" create --schema schema.json mac.realm
check "dates from 1904" "$realmfs" import --quiet mac.realm books/mac.xlsx
equal "are those days" '"2024-05-01T12:00:00Z"' "$("$realmfs" cat mac.realm Person | jq -c .born)"
check "standard input" "$realmfs" import --quiet --format xlsx mac.realm - <books/book.xlsx

cat >values.json <<'END'
{"schemaVersion": 0, "schema": [
  {"name": "Value", "primaryKey": "key", "properties": {"key": "string", "price": "decimal128", "size": "double"}},
  {"name": "Line", "properties": {"text": "string?"}}]}
END
"$realmfs" create --schema values.json values.realm
check "numbers and texts as programs store them" "$realmfs" import --quiet values.realm books/values.xlsx
equal "decimals and strings have the digits that spreadsheets show, doubles those of the file" \
  '["1.1","19.99",0.30000000000000004] ["2.5","-1.1E-3",1.1] ["1234567890123456","100",1]' \
  "$("$realmfs" cat values.realm Value | jq -c '[.key, .price, .size]' | sed 's/1.1000000000000001/1.1/' | xargs -d '\n')"
equal "lines end as in XML, and spaces are text" '"a\nb\nc\n" "d\r\ne\nf" "  " "" "\t"' \
  "$("$realmfs" cat values.realm Line | jq -c .text | xargs -d '\n')"

refused() { check_status "$1: refused" 1 "$2" timeout 60 "$realmfs" import --dry-run book.realm "books/$1.xlsx"; }
refused error 'sheet Person, cell A2: its formula has the error #DIV/0!'
refused formula 'sheet Person, cell B2: its formula has no stored value; open the file'
refused formula2 'sheet Person, cell B2: its formula has no stored value; open the file'
refused omitted 'sheet Person, cell B2: the export left out this text; remove the column or the row'
refused again 'sheet pet: another sheet has the same part'
refused many 'too many parts'
refused extra 'sheet Person, cell B2: a value, but the first row has no name for this column'
refused type 'sheet Person: row 3, field "amount": expected a number, found "many"'
refused name 'sheet Person: row 1, field "amuont": Person has no property of this name; did you mean amount'
refused order 'cell A1: the cell is out of order'
refused rows 'row 6: the number of the row is 4'
refused far 'row 1: "ZZZZZZZZZZ1" is not a cell of this row|out of order or beyond'
refused index 'cell A1: the number of its text is 99999999999999999999'
refused february 'cell B2: the day 1900-02-29 does not exist'
refused open 'not XML'
refused deep 'not XML: elements are nested too deeply'
refused doctype 'not XML: a document type'
refused bytes 'cell A1: the text is not UTF-8'
refused long 'a text is longer than 1 MiB'
refused bomb 'longer than 1 MiB'
refused missing 'sheet Person: it is missing'
refused nothing 'not a spreadsheet'
refused cut 'the archive is truncated'
refused shorter 'the archive is truncated'
refused old 'an .xls file, or one with a password'
refused text 'not an .xlsx file'
refused empty 'not an .xlsx file'
refused overlap 'damaged, or outside of the archive|overlap'
refused same 'damaged, or outside of the archive|overlap'
refused larger 'sheet1.xml: larger than the archive says'
refused smaller 'sheet1.xml: damaged'
refused encrypted 'sheet1.xml: encrypted'
refused method 'sheet1.xml: an unknown compression method'
refused outside 'sheet1.xml: damaged, or outside'
refused checksum 'sheet1.xml: damaged'
check_status "--skip-bad imports the other rows" 1 '0 created, 1 changed, 0 unchanged, 1 refused' \
  "$realmfs" import --skip-bad rejected mac.realm books/type.xlsx
equal "and keeps the row" 'books/type.xlsx: sheet Person 3' "$(jq -r '"\(.path // .file) \(.line)"' rejected)"
check_status "--decimal is for CSV" 1 'are for texts' "$realmfs" import --decimal comma book.realm books/book.xlsx

failed=0
for mutant in books/mutant*.xlsx; do
  (ulimit -v 2000000 && timeout 60 "$realmfs" import --quiet --dry-run book.realm "$mutant" >out 2>&1)
  status=$?
  [ $status -le 1 ] || { failed=1 && not_ok "$mutant: status $status: $(head -c 300 out)"; }
done
[ $failed = 1 ] || ok "mutated spreadsheets are imported or refused"
