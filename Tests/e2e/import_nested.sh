#!/usr/bin/env bash
# `realmfs import` of JSON as programs write it: objects in place of links, several classes in one object, files that
# are not named after a class; and --dry-run.
source "$(dirname "$0")/lib.sh"

cd "$scratch" || exit
"$realmfs" create model.realm
class() { "$realmfs" class --quiet "$@" || not_ok "class $*"; }
class --primary-key id add model.realm Author id=int name=string 'age=int?'
class --embedded add model.realm Cover artist=Author color=string
class add model.realm Tag text=string
class --primary-key id add model.realm Book id=int title=string author=Author 'tags=Tag[]' 'roles=Author{}' cover=Cover
"$realmfs" property --quiet add model.realm Book related 'Book<>'
"$realmfs" property --quiet add model.realm Author books 'Book[]'
"$realmfs" property --quiet add model.realm Tag book Book
"$realmfs" schema model.realm >library.json
fresh() {
  rm -f library.realm library.realm.lock
  "$realmfs" create --schema library.json library.realm || not_ok "the schema: $(cat library.json)"
}
import() { "$realmfs" import --json --class Book library.realm - | jq -c '[.created, .changed]'; }
show() { "$realmfs" cat library.realm "$1" | jq -c "${2:-.}"; }

fresh
equal "an object in place of a link creates the object" '[2,0]' \
  "$(import <<<'{"id": 1, "title": "A", "author": {"id": 7, "name": "Ann", "age": 30}}')"
equal "and links to it" 7 "$(show Book .author)"
equal "it has its values" '{"id":7,"name":"Ann","age":30,"books":[]}' "$(show Author)"
equal "an object with that primary key is updated" '[1,1]' \
  "$(import <<<'{"id": 2, "title": "B", "author": {"id": 7, "name": "Anna"}}')"
equal "where the text names values" '{"id":7,"name":"Anna","age":30,"books":[]}' "$(show Author)"
equal "the same text again changes nothing" '[0,0]' \
  "$(import <<<'{"id": 2, "title": "B", "author": {"id": 7, "name": "Anna"}}')"
equal "in sets and dictionaries, and in embedded objects" '[5,0]' "$(tr '\n' ' ' <<'END' | import
{"id": 3, "title": "C", "related": [{"id": 4, "title": "D"}, 1], "roles": {"editor": {"id": 8, "name": "Ed"}, "me": 7},
 "cover": {"color": "red", "artist": {"id": 9, "name": "Art"}}, "author": {"id": 10, "name": "Al"}}
END
)"
equal "they are linked" '[[1,4],{"editor":8,"me":7},{"artist":9,"color":"red"}]' \
  "$(show Book 'select(.id == 3) | [.related, .roles, .cover]')"
equal "several levels" '[3,0]' \
  "$(import <<<'{"id": 5, "title": "E", "author": {"id": 11, "name": "Li", "books": [{"id": 6, "title": "F"}]}}')"
equal "from the inside" 6 "$(show Author 'select(.id == 11) | .books[0]')"

fresh
equal "a class without primary key gets a new object for each" '[3,0]' \
  "$(import <<<'{"id": 1, "title": "A", "tags": [{"text": "x"}, {"text": "y"}]}')"
equal "in their order" '["x","y"]' "$(show Tag .text | jq -sc)"
# The tag refers to the book around it, which exists only after it.
equal "a link to the object around it" '[2,0]' "$(import <<<'{"id": 2, "title": "B", "tags": [{"text": "z", "book": 2}]}')"
equal "is set, and creates nothing twice" '["z",2]' "$(show Tag 'select(.text == "z") | [.text, .book]')"
equal "cycles by nesting" '[2,0]' "$(import <<<'{"id": 3, "title": "C", "author": {"id": 1, "name": "Ann", "books": [3, 2]}}')"
equal "are complete" '[3,2]' "$(show Author .books)"
before=$("$realmfs" export library.realm -)
check_status "a linked object without its primary key is refused, with its path" 1 \
  'author: the primary key "id" of the Author is missing' \
  bash -c 'echo "{\"id\": 9, \"title\": \"X\", \"author\": {\"name\": \"N\"}}" | "$1" import --class Book library.realm -' - "$realmfs"
check_status "so is one with a wrong value" 1 'author.age: expected' \
  bash -c 'echo "{\"id\": 9, \"title\": \"X\", \"author\": {\"id\": 2, \"name\": \"N\", \"age\": \"x\"}}" | "$1" import --class Book library.realm -' - "$realmfs"
equal "and nothing is changed" "$before" "$("$realmfs" export library.realm -)"

fresh
seq 3000 | jq -c '{id: ., title: "t\(.)", author: (if . % 3 == 0 then null else {id: (. % 50), name: "a\(. % 50)"} end), tags: [{text: "g\(.)", book: .}]}' >Book.jsonl
for batch in 10000 100; do
  fresh
  check "many, in batches of $batch" "$realmfs" import --quiet --batch $batch library.realm Book.jsonl
  equal "all of them, in batches of $batch" '3000 50 3000 3000' \
    "$(for class in Book Author Tag; do "$realmfs" query --count library.realm $class; done | xargs) $("$realmfs" query --count library.realm Tag 'book.title ENDSWITH "0" OR book.title != NULL')"
  check "valid, in batches of $batch" "$realmfs" check library.realm
done

# Several classes in one object.
fresh
cat >all.json <<'END'
{ "Book" : [ {"id": 1, "title": "A", "author": 2}, {"id": 2, "title": "B"} ],
  "Author": [], "Tag": [{"text": "x", "book": 1}],
  "Author": [{"id": 2, "name": "Ann"}] }
END
check_status "--dry-run prints numbers by class" 0 'Book: 2 created, 0 changed' "$realmfs" import --dry-run library.realm all.json
equal "also in JSON" '{"Book":2,"Author":1,"Tag":1}' \
  "$("$realmfs" import --dry-run --json library.realm all.json | jq -c '.classes | map_values(.created)' | jq -c '{Book, Author, Tag}')"
equal "and changes nothing" 0 "$("$realmfs" query --count library.realm Book)"
check_status "a JSON object of arrays by class" 0 '4 created' "$realmfs" import library.realm all.json
equal "is imported" '[2,null] 1 "Ann"' "$(show Book .author | jq -sc) $(show Tag .book) $(show Author .name)"
check_status "again, nothing but the object without primary key is new" 0 '^Author: 0 created, 0 changed' \
  "$realmfs" import --dry-run library.realm all.json
sed 's/"Tag"/"Tga"/' all.json >typo.json
check_status "a class that the realm does not have is an error" 1 'typo.json: line 2: no class Tga' "$realmfs" import library.realm typo.json
head -c 60 all.json >cut.json
check_status "so is an end in the middle of an object" 1 'cut.json: line 1: the object has no end' "$realmfs" import library.realm cut.json
printf '{"Book": [{"id": 9, "title": "x"}]' >cut.json
check_status "also after an array" 1 'cut.json: line 1: the object has no end' "$realmfs" import library.realm cut.json

# A realm with one class.
people=$(copy_fixture people)
"$realmfs" export --quiet --class Dog "$people" rows.jsonl
"$realmfs" schema "$people" | jq '.schema |= map(select(.name == "Dog"))' >dog.json && "$realmfs" create --schema dog.json dog.realm
check_status "a file of any name goes into a realm with one class" 0 '5 created' "$realmfs" import dog.realm rows.jsonl
check_status "but a directory does not" 1 'no class Person' \
  bash -c '"$1" export --quiet "$2" both && "$1" import dog.realm both' - "$realmfs" "$people"

# --where, --sort and --limit beside a query.
equal "--sort and --limit" "$("$realmfs" query "$people" Person 'SORT(age DESC, name ASC) LIMIT(3)')" \
  "$("$realmfs" cat --sort 'age DESC' --sort name --limit 3 "$people" Person)"
equal "--where is a query" "$("$realmfs" query --count "$people" Person 'age > 20')" \
  "$("$realmfs" query --count --where 'age > 20' "$people" Person)"
equal "they follow a query" "$("$realmfs" query "$people" Person 'age > 20 SORT(name ASC) LIMIT(2)')" \
  "$("$realmfs" query --sort name --limit 2 "$people" Person 'age > 20')"
check_status "one query is enough" 2 'give one of them' "$realmfs" query --where 'age > 1' "$people" Person 'age > 2'
check_status "--limit takes a number" 2 'limit x: expected a number' "$realmfs" query --limit x "$people" Person
check_status "an object has no order" 2 'for a class' "$realmfs" cat --limit 1 "$people" Person/4.json
check_status "an unknown property is marked" 2 'no property' "$realmfs" cat --sort nme "$people" Person
check_status "--format record prints a line for each property" 0 '^name +Rex$' "$realmfs" cat --format record "$people" Dog
equal "a record for each object" 5 "$("$realmfs" cat --format record "$people" Dog | grep -c '^-\[ [1-5] \]')"

# insert creates objects; it changes none, not even one that a new object contains in place of a link.
weight=$("$realmfs" cat "$people" Dog/Rex.json | jq .weight)
check_status "insert refuses an object in place of a link" 1 'dog' \
  "$realmfs" insert "$people" Person '{"_id": 901, "dog": {"name": "Rex", "weight": 99}}'
equal "and changes nothing" "$weight" "$("$realmfs" cat "$people" Dog/Rex.json | jq .weight)"
