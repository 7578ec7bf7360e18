#!/usr/bin/env bash
# `realmfs query` and `export --where` print the objects that a query finds, as cat does; errors give the column.
source "$(dirname "$0")/lib.sh"

file=$fixtures/people.realm
q() { "$realmfs" query "$@"; }
equal "a comparison" "30 31" "$(q "$file" Person 'age BETWEEN {30, 31}' | jq -r .age | xargs)"
equal "the lines are those of cat" "$("$realmfs" cat "$file" Person | grep '"_id":4,')" "$(q "$file" Person '_id == 4')"
equal "links, sorting and a limit" "130 60 88" "$(q "$file" Person 'dog.weight > 6 SORT(dog.weight DESC, name ASC) LIMIT(3)' | jq -r ._id | xargs)"
equal "backlinks" "Fido" "$(q "$file" Dog '@links.Person.dog.age == 21' | jq -r .name)"
equal "only the number" "19" "$(q --count "$file" Person TRUEPREDICATE)"
equal "an encrypted file" "1" "$(q --count --key-file "$key_file" "$fixtures/people-encrypted.realm" Person '_id == 4')"
equal "another notation" '{"$numberLong":"4"}' "$(q --json-style canonical "$file" Person '_id == 4' | jq -c ._id)"
check_status "a mistake shows its column" 2 'column 5: Dog has no property nam; did you mean name\? it has name, weight, good' \
  "$realmfs" query "$file" Person "dog.nam == 'x'"
equal "with a mark below" "      ^" "$(q "$file" Person "dog.nam == 'x'" 2>&1 | tail -1)"
equal "a value from outside" "4" "$(q --arg "Person 1" "$file" Person 'name == $0' | jq ._id)"
equal "is a text, whatever it contains" "" "$(q --arg "' OR name != '" "$file" Person 'name == $0')"
equal "several values" "21 22" "$(q --arg 20 --arg 23 "$file" Person 'age > $0 AND age < $1' | jq .age | xargs)"
equal "a link takes the primary key" "Rex" "$(q --arg Rex "$file" Person 'dog == $0 LIMIT(1)' | jq -r .dog)"
check_status "a value that does not fit" 2 "column 8: argument 'old' is not an integer" \
  "$realmfs" query --arg old "$file" Person 'age == $0'
check_status "a value without a query" 2 '--arg needs a QUERY' "$realmfs" query --arg 1 "$file" Person
check_status "a word that is a text" 2 "write it in quotes: 'Rex'" "$realmfs" query "$file" Dog 'name == Rex'
check_status "a pattern of SQL" 0 'note: the wildcards of LIKE are \* and \?' "$realmfs" query "$file" Dog 'name LIKE "R%"'
check_status "a missing class" 3 'no class Cat' "$realmfs" query "$file" Cat 'x == 1'
equal "export --where" "$(q "$file" Person 'age > 30')" "$("$realmfs" export --class Person --where 'age > 30' "$file")"
check_status "--where needs a class" 2 'needs --class' "$realmfs" export --where 'age > 30' "$file"
check_status "--where takes no order" 1 'takes no SORT' "$realmfs" export --class Person --where 'age > 30 LIMIT(1)' "$file"
for item in $shared/fixtures/sdk/v9-java-default1.realm; do
  [ -f "$item" ] || { skip "../shared/fixtures is absent: old formats were not asked"; continue; }
  check "a file of format 9" "$realmfs" query "$item" Person TRUEPREDICATE
done
