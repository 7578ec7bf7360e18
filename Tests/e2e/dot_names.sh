#!/usr/bin/env bash
# The dot names of a class directory, used with common tools: .where, .by, .fields, .all.jsonl, .all.csv, .count.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" || exit
cd "$point" || exit
query() { "$realmfs" query "$file" Person "$1" --columns _id --format csv | tail -n +2 | tr -d '\r' | sed 's/$/.json/'; }

# Queries.
equal "ls of a query is the query, in its order" "$(query 'age > 30 SORT(age DESC)')" \
  "$(ls -U 'Person/.where/age > 30 SORT(age DESC)')"
equal "the files are the objects" "$(stat -c %i Person/74.json)" "$(stat -c %i 'Person/.where/age > 30/74.json')"
equal "cat" "$(cat Person/74.json)" "$(cat 'Person/.where/age > 30/74.json')"
check_status "an object that does not pass is not there" 2 'No such file' ls 'Person/.where/age > 30/4.json'
check "find sees them" bash -c 'test "$(find "Person/.where/age > 30" -name "*.json" | wc -l)" = 6'
check "grep -r" bash -c 'grep -rqs "p11@example.com" "Person/.where/age > 30"'
check "jq over all of them" bash -c 'test "$(cat "Person/.where/age > 30"/*.json | jq -s length)" = 6'
check "a slash is %2F" ls 'Person/.where/name CONTAINS "%2F"'
check_status "a wrong query is EINVAL" 2 'Invalid argument' ls 'Person/.where/agee > 3'
check "the errors say where it is wrong" grep -q 'column 1: Person has no property agee; did you mean age' .realm/errors
check "so does the directory of the class" \
  bash -c 'getfattr --only-values -n user.realmfs.error Person | grep -q "no property agee"'
check "an object is edited through a query" bash -c 'echo "{\"age\": 31}" >"Person/.where/age > 30/74.json"'
check_status "rm -rf destroys nothing" 1 'Operation not permitted' rm -rf 'Person/.where/age > 30'
equal "all objects are there" 19 "$(cat Person/.count)"
stat -t 'Person/.where/age > 30/74.json' >/dev/null
echo '{"age": 29}' >Person/74.json
check "a save takes the object out of a query that the kernel knows" \
  wait_until 2 bash -c '! stat -t "Person/.where/age > 30/74.json" 2>/dev/null'
echo '{"age": 31}' >Person/74.json
check "and brings it back" wait_until 2 bash -c 'stat -t "Person/.where/age > 30/74.json" >/dev/null'
check_status "nothing is made there" 1 'Operation not permitted' touch 'Person/.where/age > 30/1.json'
check_status "nor moved away" 1 'Operation not permitted|same file' mv 'Person/.where/age > 30/74.json' Person/x
check_status "nor removed" 1 'Operation not permitted' rm 'Person/.where/age > 30/74.json'
check "cp -r of a result" cp -r 'Person/.where/age > 30' "$scratch/result"
equal "copies the objects" 6 "$(find "$scratch/result" -type f | wc -l)"
check "tar of a result" bash -c 'tar -C Person/.where/"age > 30" -cf - . | tar -tf - | grep -q 74.json'
check "rsync of a result" rsync -a 'Person/.where/age > 30/' "$scratch/rsynced/"
equal "has the same files" "$(ls "$scratch/result")" "$(ls "$scratch/rsynced")"

# Values.
equal "the values of a property" "%null 21 22" "$(ls -U Person/.by/age | head -3 | tr '\n' ' ' | sed 's/ $//')"
equal "the objects of a value" "$(query 'age == 21')" "$(ls -U Person/.by/age/21)"
equal "links are named by their objects" "$(query 'dog.name == "Fido"')" "$(ls -U Person/.by/dog/Fido)"
equal "one condition after another" "$(query 'dog.name == "Fido" AND age > 24')" \
  "$(ls -U 'Person/.by/dog/Fido/.where/age > 24')"
check_status "lists have no values" 2 'No such file' ls Person/.by/friends

# All objects in one file.
equal ".all.jsonl is what realmfs cat prints" "$("$realmfs" cat --format jsonl "$file" Person | sha256sum)" \
  "$(sha256sum <Person/.all.jsonl)"
equal "also of a query" 6 "$(wc -l <'Person/.where/age > 30/.all.jsonl')"
whole=$(cat Person/.all.jsonl)
equal "head" "$(head -2 <<<"$whole")" "$(head -2 Person/.all.jsonl)"
equal "tail" "$(tail -2 <<<"$whole")" "$(tail -2 Person/.all.jsonl)"
equal "wc" "$(wc -l <<<"$whole")" "$(wc -l <Person/.all.jsonl)"
equal "dd by single bytes" "$whole" "$(dd if=Person/.all.jsonl bs=1 status=none)"
equal "jq" 19 "$(jq -s length Person/.all.jsonl)"
check "cp" cp Person/.all.jsonl "$scratch/all.jsonl"
equal "copies it whole" "$whole" "$(cat "$scratch/all.jsonl")"
check "Python seeks in it" python3 -c '
import sys
with open("Person/.all.jsonl", "rb") as file:
    whole = file.read(); file.seek(100); part = file.read(50)
sys.exit(part != whole[100:150])'
"$realmfs" export --class Person "$file" "$scratch/person.csv" >"$scratch/exported.txt"
equal ".all.csv is what realmfs export writes" "$(sha256sum <"$scratch/person.csv")" "$(sha256sum <Person/.all.csv)"
equal "also of a query, in its order" "$("$realmfs" query "$file" Person 'age > 30 SORT(age DESC)' --format csv)" \
  "$(cat 'Person/.where/age > 30 SORT(age DESC)/.all.csv')"
equal "dd by single bytes" "$(cat Person/.all.csv)" "$(dd if=Person/.all.csv bs=1 status=none)"
check "Python reads it" python3 -c '
import csv, sys
with open("Person/.all.csv", newline="") as file:
    rows = list(csv.DictReader(file))
    file.seek(0)
    again = list(csv.DictReader(file))
sys.exit(len(rows) != 19 or rows != again)'
check_status "it is only read" 1 'Permission denied|Operation not permitted' bash -c 'echo a >Person/.all.csv'
version() { cat .realm/version; }
before=$(version)
check "lines are saved" bash -c 'jq -c ".age = (.age // 0) + 100" Person/.all.jsonl >"$1" && cp "$1" Person/.all.jsonl' - \
  "$scratch/older.jsonl"
equal "in one commit" $((before + 1)) "$(version)"
equal "all of them" 19 "$(jq -r 'select(.age >= 100) | ._id' Person/.all.jsonl | wc -l)"
check "as they were" cp "$scratch/all.jsonl" Person/.all.jsonl
equal "they are again" "$whole" "$(cat Person/.all.jsonl)"
check "lines are added" bash -c \
  'printf "%s\n" "{\"_id\": 900, \"name\": \"a\", \"friends\": [901]}" "{\"_id\": 901, \"name\": \"b\"}" >>Person/.all.jsonl'
equal "also with links to later ones, and the others stay" "21 [901]" \
  "$(cat Person/.count) $(jq -c .friends Person/900.json)"
before=$(version)
check_status "a wrong line is refused in time" 1 'Invalid argument' bash -c \
  'printf "%s\n" "{\"_id\": 4, \"age\": 1}" "{\"_id\": 11, \"age\": \"x\"}" >Person/.all.jsonl'
check "with its number" grep -q 'line 2, column [0-9]*, age: expected a whole number' .realm/errors
check "and its text is kept" grep -q '"x"' .realm/rejected/Person/.all.jsonl
equal "and nothing is changed" "$before" "$(version)"
echo '{"_id": 4, "friends": [12345]}' >"$scratch/link.jsonl"
check_status "a link to nothing as well, at close" 1 'Invalid argument' cp "$scratch/link.jsonl" Person/.all.jsonl
# Programs that write a new file and rename it.
version=$(cat .realm/version)
check "a loop of commands writes lines" bash -c \
  'for i in 1 2 3; do jq -nc "{_id: 900, age: $i}" || exit; cat /dev/null; done >Person/.all.jsonl'
equal "in one commit" "$((version + 1)) 3" "$(cat .realm/version) $(jq .age Person/900.json)"
equal "of which one that is refused refuses all" "1 3" "$(bash -c '{ (echo "{\"_id\": 900, \"age\": 9}"); /bin/echo "{\"_id\": 900, \"age\": true}"; } >Person/.all.jsonl' 2>/dev/null; echo "$?") $(jq .age Person/900.json)"
version=$(cat .realm/version)
check "redirections of a shell close the file again and again" bash -c \
  'exec 3>>Person/.all.jsonl; for i in 1 2 3; do echo "{\"_id\": 90$i, \"name\": \"n\"}" >&3; done; exec 3>&-'
equal "and each close saves" $((version + 3)) "$(cat .realm/version)"
seq 10000 12999 | sed 's/.*/{"_id":&,"name":"a name that takes some room"}/' >"$scratch/many.jsonl"
echo '{"_id":13000,"name":7}' >>"$scratch/many.jsonl"
check_status "a command in a group is told of a line that is refused" 1 'cat: write error: Invalid argument' \
  bash -c '{ cat "$1"; } >Person/.all.jsonl' - "$scratch/many.jsonl"
check "a program that leaves the file to another one" python3 -c '
import subprocess, sys
file = open("Person/.all.jsonl", "w")
# It writes after the opener has closed its handle.
command = ["sh", "-c", "cat >/dev/null; exec head -n 3000 \"$1\"", "-", sys.argv[1]]
other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file)
file.close()
other.stdin.close()
sys.exit(other.wait())' "$scratch/many.jsonl"
equal "has its lines when that has ended" 3000 "$(jq -r 'select(._id >= 10000 and ._id < 13000) | ._id' Person/.all.jsonl | wc -l)"
jq -rc 'select(._id >= 10000) | "Person/\(._id).json"' Person/.all.jsonl | xargs rm
rm Person/901.json Person/902.json Person/903.json
version=$(cat .realm/version)
check "commands of a group write one object" bash -ec '{ echo "{ \"age\": "; seq 43 43; echo "}"; } >Person/900.json'
check "and one property" bash -ec '{ printf "a\xc3"; /bin/true; printf "\xbc"; } >Person/.fields/900/name'
equal "in one commit each" "$((version + 2)) 43 aü" "$(cat .realm/version) $(jq -r '"\(.age) \(.name)"' Person/900.json)"
check_status "a text that is refused leaves what was there, whoever closes it" 1 'write error' \
  bash -c '(/bin/true; printf "\377") >Person/.fields/900/name'
equal "as it was" "aü" "$(cat Person/.fields/900/name)"
rm .realm/rejected/Person/900.name
equal "who reads the file while writing to it is told at close, too" 22 "$(python3 -c '
import os
read = os.open("Person/.all.jsonl", os.O_RDONLY)
write = os.open("Person/.all.jsonl", os.O_WRONLY | os.O_APPEND)
os.write(write, b"{\"_id\": 900, \"friends\": [424242]}\n")
try: os.close(write)
except OSError as error: print(error.errno)')"
echo '{"_id": 901, "name": "b", "friends": [900]}' >>Person/.all.jsonl
sed -i 's/"name":"[^"]*"/"name":"a"/' Person/900.json
sed -i 's/"name": "[^"]*"/"name": "a"/' Person/900.json
check "sed -i saves lines" sed -i 's/"name":"a"/"name":"by sed"/' Person/.all.jsonl
equal "of which it changed one" "by sed" "$(jq -r .name Person/900.json)"
check "mv as well" bash -c 'jq -c "select(._id == 901) | .name = \"moved\"" Person/.all.jsonl >Person/.new && mv Person/.new Person/.all.jsonl'
equal "an object" "moved" "$(jq -r .name Person/901.json)"
equal "and the file shows all of them" "21 $(stat -c %s Person/.count)" "$(wc -l <Person/.all.jsonl) 3"
if command -v rsync >/dev/null; then
  echo '{"_id": 901, "name": "by rsync"}' >"$scratch/.all.jsonl"
  check "rsync" rsync "$scratch/.all.jsonl" Person/
  equal "too" "by rsync" "$(jq -r .name Person/901.json)"
fi
"$realmfs" class add "$file" Note n=int? && printf '{}\n{}\n' >>Note/.all.jsonl
check_status "without a primary key it is refused" 4 'Operation not permitted' sed -i 's/x/y/' Note/.all.jsonl
check_status "for the lines would be new objects" 0 'Note/.all.jsonl.*without a primary key' tail -1 .realm/errors
equal "so there are as many as before" 2 "$(cat Note/.count)"
rm Note/*.json && rmdir Note
before=$(version)
check_status "a line that cannot be saved is refused" 4 'Bad message' sed -i 's/"name":"Person 1"/"name":7/' Person/.all.jsonl
check_status "and told" 0 'line [0-9]*, column [0-9]*, name' getfattr -n user.realmfs.error Person/.all.jsonl
for name in .all.csv .count; do
  check_status "sed -i of $name is refused" 4 'Operation not permitted' sed -i 's/1/2/' "Person/$name"
  check_status "which says why" 0 "Person/$name.*read-only" tail -1 .realm/errors
  check_status "and $name cannot be removed" 1 'Operation not permitted' rm -f "Person/$name"
done
check_status "nor given another name" 1 'Operation not permitted' mv Person/.count Person/other
for name in version errors info.json unsaved README; do
  check_status "nor can .realm/$name be replaced" 1 'Operation not permitted' \
    bash -c 'echo x >.realm/new; mv .realm/new ".realm/$1"; code=$?; rm .realm/new; exit $code' - "$name"
done
equal "nothing is left of these" "$before 21" "$(version) $(cat Person/.count)"
equal "in memory neither" "Person/.all.jsonl" "$(sed 's,.realm/rejected/,,' .realm/unsaved)"
check "many lines at once" bash -c 'seq 5000 6999 | jq -c "{_id: ., name: \"n\"}" >"$1" && cat "$1" >Person/.all.jsonl' - \
  "$scratch/many.jsonl"
equal "are there" 2021 "$(cat Person/.count)"
check "and go by a query" "$realmfs" delete --yes "$file" Person '_id >= 900'
check_status "what a query finds is only read" 1 'Permission denied|Operation not permitted' \
  bash -c 'echo "{}" >"Person/.where/age > 30/.all.jsonl"'

# Fields.
equal "a string, bare" "Person 1" "$(cat Person/.fields/4/name)"
equal "its size" 9 "$(stat -c %s Person/.fields/4/name)"
equal "JSON of the rest" 21 "$(cat Person/.fields/4/age)"
equal "a link leads to its object" "$(cat Dog/Fido.json)" "$(cat Person/.fields/4/dog)"
equal "so do the elements of a list" "$(cat Person/60.json)" "$(cat Person/.fields/18/friends/0)"
equal "and links back" "4.json 95.json" "$(ls Person/.fields/18/.backlinks/Person.friends | tr '\n' ' ' | sed 's/ $//')"
equal "those lead there" "$(cat Person/4.json)" "$(cat Person/.fields/18/.backlinks/Person.friends/4.json)"
check "a string is written" bash -c 'printf "New name" >Person/.fields/4/name'
equal "and no other property" "New name 21" "$(jq -r '"\(.name) \(.age)"' Person/4.json)"
check "sed -i" sed -i 's/New/Newer/' Person/.fields/4/name
check "vim" bash -c 'if command -v vim >/dev/null; then vim -es -u NONE -c "s/Newer/Newest/" -c "set nofixeol noeol binary" -c wq Person/.fields/4/name; fi'
equal "changed it" "New" "$(jq -r '.name[:3]' Person/4.json)"
check_status "a wrong type is refused in time" 1 'Invalid argument' bash -c 'echo "\"old\"" >Person/.fields/4/age'
check "rm makes a property null" rm Person/.fields/4/email
equal "it is gone, and null" "null no" "$(jq -c .email Person/4.json) $(test -e Person/.fields/4/email && echo yes || echo no)"
check "making the file sets it" bash -c 'printf "a@example.com" >Person/.fields/4/email'
equal "it is set" "a@example.com" "$(jq -r .email Person/4.json)"
check_status "the primary key stays" 1 'Operation not permitted' rm Person/.fields/4/_id
check_status "writing through a link is writing to its object" 1 'Invalid argument' \
  bash -c 'echo Rex >Person/.fields/4/dog'

# Dot names are not listed unless requested.
equal "the class lists its objects only" "$(cat Person/.count)" "$(ls -A Person | wc -l)"
equal "grep -r sees each object once" 1 "$(grep -rl 'p11@example.com' Person | wc -l)"
check "git does not see it" bash -c 'cd "$1" && git init -q . 2>/dev/null && cp -r "$2/Person" . && git add -A && test -z "$(git ls-files | grep "/\\.")"' - \
  "$(new_directory git)" "$point"

# Commits of other programs.
check "another program changes an object" "$realmfs" set "$file" Person/4 age=99
equal "the next listing has it" 4.json "$(ls 'Person/.where/age == 99')"
equal "and the value is there" 99 "$(ls -U Person/.by/age | tail -1)"
equal "and the field" 99 "$(cat Person/.fields/4/age)"
cd /
stop_server "$point" 2>/dev/null
check_status "the file is sound" 0 sound "$realmfs" check "$file"

# Binary data, byte for byte, and a read-only mount.
file=$(copy_fixture all-types)
serve "$file" "$point" || exit
class=$(ls "$point" | head -1)
"$realmfs" schema --class "$class" "$file" >/dev/null
data=$(jq -r '.properties | to_entries[] | select(.value.type == "data" and .value.collection == null) | .key' "$point/.realm/schema/$class.json" | head -1)
object=$(ls "$point/$class" | head -1)
head -c 3000000 /dev/urandom >"$scratch/photo"
check "a file is copied into a property ($class.$data)" cp "$scratch/photo" "$point/$class/.fields/${object%.json}/$data"
check "and out of it" cmp "$scratch/photo" "$point/$class/.fields/${object%.json}/$data"
equal "its size is exact" 3000000 "$(stat -c %s "$point/$class/.fields/${object%.json}/$data")"
stop_server "$point"
check_status "the file is sound" 0 sound "$realmfs" check "$file"
serve "$file" "$point" --read-only || exit
equal "a read-only mount has queries" "$(ls "$point/$class" | wc -l)" "$(ls "$point/$class/.where/TRUEPREDICATE" | wc -l)"
check_status "but writes nothing" 1 'Read-only file system' bash -c 'echo 1 >"$1"' - "$point/$class/.fields/${object%.json}/$data"
stop_server "$point"
serve "$file" "$point" -o show_control || exit
equal "-o show_control lists the names" ".all.csv .all.jsonl .by .count .fields .where" \
  "$(ls -A "$point/$class" | grep '^\.' | tr '\n' ' ' | sed 's/ $//')"
stop_server "$point"

# A query that exceeds its time limit.
file=$(copy_fixture items-10k)
serve "$file" "$point" -o query_timeout=0 || exit
class=$(for c in $(ls "$point"); do echo "$(cat "$point/$c/.count") $c"; done | sort -rn | head -1 | cut -d' ' -f2)
check_status "-o query_timeout" 2 'timed out' ls "$point/$class/.where/TRUEPREDICATE"
stop_server "$point"
