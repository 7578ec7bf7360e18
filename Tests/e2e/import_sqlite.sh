#!/usr/bin/env bash
# `realmfs import FILE DB.sqlite`: an export comes back as the same tree; tables of any other database become classes; the
# database is never changed.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
sql() { python3 -c 'import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.executescript(sys.stdin.read())
database.commit()' "$1"; }

for name in all-types embedded nested strings primary-keys name-limits people people-encrypted leaf-states; do
  file=$fixtures/$name.realm
  options=()
  [[ $name != *encrypted* ]] || options=(--key-file "$key_file")
  "$realmfs" schema "${options[@]}" "$file" >schema.json
  "$realmfs" export --quiet "${options[@]}" "$file" "$name.sqlite"
  "$realmfs" create --schema schema.json "$name.realm"
  check "$name" "$realmfs" import "$name.realm" "$name.sqlite"
  "$realmfs" export --quiet "${options[@]}" --format json "$file" "$name.before"
  "$realmfs" export --quiet --format json "$name.realm" "$name.after"
  # SQLite has no -0.0 in a column of numbers.
  find "$name.before" "$name.after" -type f -exec sed -i 's/-0\.0\b/0.0/' {} +
  check "$name: the tree is the one before" diff -r "$name.before" "$name.after"
  check "$name: the realm is sound" "$realmfs" check "$name.realm"
  equal "$name: once more changes nothing" "0 0" \
    "$("$realmfs" import --json "$name.realm" "$name.sqlite" | jq -r '"\(.created) \(.changed)"')"
done

"$realmfs" schema "$fixtures/people.realm" >people.json
"$realmfs" create bare.realm
check_status "an export needs the classes" 1 "no class Dog; .*copy the classes with 'realmfs schema'" \
  "$realmfs" import bare.realm people.sqlite
"$realmfs" create --schema people.json dogs.realm
check_status "--class selects a class" 0 '5 created' "$realmfs" import --class Dog dogs.realm people.sqlite
equal "and no other" "0" "$("$realmfs" query --count dogs.realm Person)"
check_status "an unknown class is named" 1 'no table Dgo; did you mean Dog' "$realmfs" import --class Dgo dogs.realm people.sqlite

# Any database.
sql shop.db <<'END'
CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, born DATE, vip BOOLEAN, token UUID, photo BLOB);
CREATE TABLE "order" (number TEXT PRIMARY KEY, customer INTEGER REFERENCES customer, total DECIMAL(10, 2), placed DATETIME,
  weight REAL, note, odd INTEGER, boss TEXT REFERENCES "order" (number));
CREATE TABLE line (number TEXT REFERENCES "order", position INTEGER, amount INT, PRIMARY KEY (number, position)) WITHOUT ROWID;
CREATE TABLE android_metadata (locale TEXT);
CREATE VIRTUAL TABLE search USING fts5 (text);
INSERT INTO customer VALUES (1, 'Ann', '1990-05-01', 1, '01234567-89ab-cdef-0123-456789abcdef', x'00ff'),
  (2, 'Bob', NULL, 0, NULL, x''), (3, 'Größe ''"', '2024-05-01 10:00:00', NULL, '01234567-89AB-CDEF-0123-456789ABCDEF', NULL);
INSERT INTO "order" VALUES ('a', 1, 19.99, '2024-01-01T10:00:00Z', 1.5, 'x', 1, NULL), ('b', NULL, 5, NULL, 2, 7, 'text', 'a'),
  ('c', 3, NULL, NULL, NULL, NULL, NULL, 'b');
INSERT INTO line VALUES ('a', 1, 3), ('a', 2, NULL), ('c', 1, -9223372036854775808);
END
state() { stat -c '%Y %s' shop.db; sha256sum shop.db; ls; }
state >before.txt
"$realmfs" create shop.realm
"$realmfs" import --dry-run shop.realm shop.db >mapping 2>notes
equal "--dry-run shows the mapping" "$(cat <<'END'
table customer: new class customer: id int (primary key), name string, born date?, vip bool?, token uuid?, photo data?
table order: new class order: number string (primary key), customer customer, total decimal128?, placed date?, weight double?, note mixed, odd mixed, boss order
table line: new class line: number order, position int, amount int?
customer: 3 created, 0 changed
order: 3 created, 0 changed
line: 3 created, 0 changed
END
)" "$(cat mapping)"
check "internal tables are named" grep -q 'table android_metadata belongs to Android and is not imported' notes
check "virtual tables are named" grep -q 'table search is virtual and is not imported' notes
equal "and changes nothing" "" "$("$realmfs" cat shop.realm)"
equal "also in JSON" 3 "$("$realmfs" import --dry-run --json shop.realm shop.db | jq '.mapping | length')"
rm -f mapping notes
check_status "import" 0 '9 created, 0 changed' "$realmfs" import shop.realm shop.db
rm -rf shop.realm.management && mv shop.realm* ..
state | diff - before.txt >changes
equal "the database and its directory are unchanged" "" "$(grep -v 'changes$' changes | grep '^<')"
mv ../shop.realm* .
equal "customers" '{"id":1,"name":"Ann","born":"1990-05-01T00:00:00Z","vip":true,"token":"01234567-89ab-cdef-0123-456789abcdef","photo":"AP8="}
{"id":2,"name":"Bob","born":null,"vip":false,"token":null,"photo":""}
{"id":3,"name":"Größe '"'"'\"","born":"2024-05-01T10:00:00Z","vip":null,"token":"01234567-89ab-cdef-0123-456789abcdef","photo":null}' \
  "$("$realmfs" cat shop.realm customer)"
equal "orders, with links" '["a",1,"19.99",1.5,"x",1,null] ["b",null,"5",2.0,7,"text","a"] ["c",3,null,null,null,null,"b"]' \
  "$("$realmfs" cat shop.realm order | jq -c '[.number, .customer, .total, .weight, .note, .odd, .boss]' | sed 's/,2,7/,2.0,7/' | xargs -d '\n')"
equal "a table without rowid" '["a",1,3] ["a",2,null] ["c",1,"-9223372036854775808"]' \
  "$("$realmfs" cat shop.realm line | jq -c '[.number, .position, (.amount | if type == "object" then .["$numberLong"] else . end)]' | xargs -d '\n')"
equal "the rows of a table with a primary key are known again" "3 0 6" \
  "$("$realmfs" import --json shop.realm shop.db | jq -r '"\(.created) \(.changed) \(.unchanged)"')"
check "the realm is sound" "$realmfs" check shop.realm

# Into classes that exist.
"$realmfs" create --schema people.json people2.realm
sql dogs.db <<<'CREATE TABLE dog (NAME TEXT, weight REAL, good INTEGER); INSERT INTO dog VALUES ("Rex", 3, 1), ("Ace", "heavy", 0);'
check_status "a value of another type is refused with table and row" 1 'dogs.db: table dog: row 2: weight: expected a number, found the string "heavy"' \
  "$realmfs" import people2.realm dogs.db
check_status "--skip-bad imports the other rows" 1 '1 created, 0 changed, 0 unchanged, 1 refused' \
  "$realmfs" import --skip-bad rejected people2.realm dogs.db
equal "names are compared without case" '{"name":"Rex","weight":3.0,"good":true}' "$("$realmfs" cat people2.realm Dog)"
sql dogs.db <<<'ALTER TABLE dog ADD COLUMN wieght REAL;'
check_status "a column without a property is refused" 1 'table dog, column wieght: Dog has no property of this name; did you mean weight' \
  "$realmfs" import people2.realm dogs.db

# A write-ahead log beside the database.
python3 - <<'END'
import os, shutil, sqlite3
database = sqlite3.connect("open.db")
database.execute("PRAGMA journal_mode = WAL")
database.executescript("CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT); INSERT INTO t VALUES (1, 'in the log');")
os.mkdir("wal")
for name in ("open.db", "open.db-wal"): shutil.copy(name, "wal/" + name)
database.close()
# A journal that must be rolled back.
os.mkdir("journal")
database = sqlite3.connect("hot.db", isolation_level=None)
database.executescript("CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT); INSERT INTO t VALUES (1, 'committed');")
database.executescript("PRAGMA cache_size = 1; PRAGMA cache_spill = ON; BEGIN; UPDATE t SET s = 'not committed';")
database.execute("INSERT INTO t SELECT value, hex(randomblob(1000)) FROM (WITH RECURSIVE n(value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM n LIMIT 200) SELECT value FROM n)")
for name in ("hot.db", "hot.db-journal"): shutil.copy(name, "journal/" + name)
database.execute("ROLLBACK")
database.close()
END
for kind in wal journal; do
  (cd $kind && sha256sum ./* >../$kind.sums)
  "$realmfs" create $kind.realm
  base=$(basename $kind/*.db)
  check_status "a database with a $kind" 0 "read with the changes in $kind/$base-$kind" "$realmfs" import $kind.realm $kind/$base
  equal "the $kind is unchanged, and nothing else is there" "$(cat $kind.sums)" "$(cd $kind && sha256sum ./*)"
done
equal "changes in the log are imported" '{"id":1,"s":"in the log"}' "$("$realmfs" cat wal.realm t)"
equal "changes that were not committed are not" '{"id":1,"s":"committed"}' "$("$realmfs" cat journal.realm t)"
python3 -c 'import sqlite3; c = sqlite3.connect("open.db"); c.execute("select * from t").fetchall()'
rm -f open.db-wal open.db-shm
"$realmfs" create open.realm
check "a database in this mode without a log" "$realmfs" import --quiet open.realm open.db
equal "gets no files beside it" "open.db" "$(ls open.db*)"
equal "no private copy is left" "" "$(ls "$TMPDIR")"

# The log is beside the file that a link refers to.
ln -s wal/open.db link.db
"$realmfs" create link.realm
check_status "the log is found through a symbolic link" 0 "read with the changes in link.db-wal" "$realmfs" import link.realm link.db
equal "and its changes are imported" '{"id":1,"s":"in the log"}' "$("$realmfs" cat link.realm t)"
check "a path that begins with two slashes" "$realmfs" import --quiet --dry-run link.realm "/$scratch/open.db"

# A journal of a transaction over several databases names a file that SQLite deletes.
echo precious >victim.txt
python3 - "$scratch/victim.txt" <<'END'
import os, struct, sys
os.mkdir("several")
name = sys.argv[1].encode()
magic = bytes.fromhex("d9d505f920a163d7")
trailer = struct.pack(">I", 0) + name + struct.pack(">II", len(name), sum(name)) + magic
journal = open("journal/hot.db-journal", "rb").read()
for file, data in (("hot", journal), ("bare", magic + bytes(504)), ("persistent", bytes(len(magic)) + journal[8:])):
    with open(f"several/{file}.db", "wb") as database: database.write(open("open.db", "rb").read())
    with open(f"several/{file}.db-journal", "wb") as output: output.write(data + trailer)
END
for name in hot bare; do
  check_status "a journal that names another file ($name) is refused" 1 \
    "several/$name.db-journal belongs to a transaction over several databases" \
    "$realmfs" import --dry-run open.realm several/$name.db
done
check "one that is not needed any more is ignored" "$realmfs" import --quiet --dry-run open.realm several/persistent.db
equal "the file that they name is kept" precious "$(cat victim.txt)"
printf '%8192s' text >several/broken.db
cp several/persistent.db-journal several/broken.db-journal
check_status "a broken database with a journal" 1 'broken.db: SQLite: file is not a database' \
  "$realmfs" import --dry-run open.realm several/broken.db
equal "no private copy is left after errors" "" "$(ls "$TMPDIR")"

# Text in UTF-16.
for encoding in UTF-16le UTF-16be; do
  sql $encoding.db <<<"PRAGMA encoding = '$encoding'; CREATE TABLE Größe (id INTEGER PRIMARY KEY, s TEXT); INSERT INTO Größe VALUES (1, 'Größe 𝄞'), (2, '');"
  "$realmfs" create $encoding.realm
  check_status "a database in $encoding" 0 '2 created' "$realmfs" import $encoding.realm $encoding.db
  equal "its texts" '{"id":1,"s":"Größe 𝄞"} {"id":2,"s":""}' "$("$realmfs" cat $encoding.realm Größe | xargs -d '\n')"
done

# Rows that a primary key of a class would make one object.
sql keys.db <<'END'
CREATE TABLE code (code TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE token (token UUID PRIMARY KEY, n INTEGER);
CREATE TABLE other (token UUID PRIMARY KEY, n INTEGER);
INSERT INTO code VALUES (NULL, 1), (NULL, 2), ('a', 3);
INSERT INTO token VALUES ('01234567-89ab-cdef-0123-456789abcdef', 1), ('01234567-89AB-CDEF-0123-456789ABCDEF', 2),
  (x'0123456789abcdef0123456789abcdef', 3);
INSERT INTO other VALUES ('01234567-89ab-cdef-0123-456789abcdef', 1), (x'1123456789abcdef0123456789abcdef', 2);
END
"$realmfs" create keys.realm
check_status "rows with null and with equal UUIDs as primary keys" 0 '8 created, 0 changed' "$realmfs" import keys.realm keys.db
equal "are objects of classes without a primary key" "null null token" \
  "$("$realmfs" schema keys.realm | jq -r '[.schema[] | {(.name): .primaryKey}] | add | "\(.code) \(.token) \(.other)"')"

# Properties that the classes got after the export.
cat >old.json <<'END'
{"schemaVersion": 0, "schema": [
  {"name": "Top", "primaryKey": "id", "properties": {"id": "int", "node": "Node"}},
  {"name": "Node", "embedded": true, "properties": {"n": "int"}}]}
END
cat >new.json <<'END'
{"schemaVersion": 0, "schema": [
  {"name": "Top", "primaryKey": "id", "properties": {"id": "int", "node": "Node", "tags": "string[]", "names": "int{}", "s": "string?"}},
  {"name": "Node", "embedded": true, "properties": {"n": "int", "tags": "string[]", "s": "string?"}}]}
END
"$realmfs" create --schema old.json old.realm
"$realmfs" insert --quiet old.realm Top '{"id": 1, "node": {"n": 5}}'
"$realmfs" export --quiet old.realm old.sqlite
"$realmfs" create --schema new.json new.realm
check "an export from before the classes got properties" "$realmfs" import --quiet new.realm old.sqlite
equal "the object" '{"id":1,"node":{"n":5,"tags":[],"s":null},"tags":[],"names":{},"s":null}' "$("$realmfs" cat new.realm Top)"
"$realmfs" set --quiet new.realm Top/1 tags='["a"]'
"$realmfs" export --quiet new.realm new.sqlite
check_status "a column that embedded objects do not have is refused" 1 'table Node, column s: Node has no property of this name' \
  "$realmfs" import old.realm new.sqlite
sed 's/"n": "int"}/"n": "int", "tags": "string[]", "s": "string?"}/; s/"node": "Node"/&, "s": "string?"/' old.json >half.json
"$realmfs" create --schema half.json half.realm
check_status "and so is a collection that the class does not have" 1 'table Top.tags: no class has this collection' \
  "$realmfs" import half.realm new.sqlite
"$realmfs" set --quiet new.realm Top/1 tags='[]'
"$realmfs" export --quiet new.realm empty.sqlite
check "unless it has no elements" "$realmfs" import --quiet half.realm empty.sqlite

# What is not a database, and hostile ones.
printf 'SQLite format 3\0 and more' >broken.db
check_status "a broken database" 1 'broken.db: SQLite: ' "$realmfs" import shop.realm broken.db
head -c 5000 people.sqlite >cut.db
check_status "a truncated one" 1 'cut.db: SQLite: database disk image is malformed' "$realmfs" import people2.realm cut.db
check_status "standard input" 1 'is read from a file' "$realmfs" import --format sqlite shop.realm -
cat >nodes.json <<'END'
{"schemaVersion": 0, "schema": [
  {"name": "Top", "primaryKey": "id", "properties": {"id": "int", "node": "Node"}},
  {"name": "Node", "embedded": true, "properties": {"next": "Node", "nodes": "Node[]"}}]}
END
"$realmfs" create --schema nodes.json nodes.realm
"$realmfs" insert --quiet nodes.realm Top '{"id": 1, "node": {"next": {"nodes": [{}, {}]}}}'
"$realmfs" export --quiet nodes.realm nodes.db
"$realmfs" create --schema nodes.json nodes2.realm
check "embedded objects at several levels" "$realmfs" import --quiet nodes2.realm nodes.db
check "are the same" "$realmfs" diff nodes.realm nodes2.realm
sql nodes.db <<<'UPDATE Node SET next = _key;'
check_status "embedded objects that form a cycle are refused" 1 'table Top: row 1: embedded objects form a cycle' \
  "$realmfs" import nodes2.realm nodes.db
for seed in 1 2 3 4 5 6 7 8; do
  python3 - $seed <<'END'
import random, sys
random.seed(int(sys.argv[1]))
data = bytearray(open("all-types.sqlite", "rb").read())
for _ in range(20): data[random.randrange(100, len(data))] = random.randrange(256)
open("mutant.db", "wb").write(data)
END
  timeout 60 "$realmfs" import --quiet --dry-run all-types.realm mutant.db >out 2>&1
  status=$?
  case $status in
    0 | 1) ok "a mutated database ends with $status" ;;
    *) not_ok "a mutated database: status $status: $(head -c 300 out)" ;;
  esac
done
