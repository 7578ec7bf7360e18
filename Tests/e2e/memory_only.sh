#!/usr/bin/env bash
# What is copied into a mount and is no object: it is said while it can still be saved elsewhere, and at unmount; and
# folders do not become classes by being copied.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
folder=$(new_directory folder)
echo "remember the milk" >"$folder/notes.txt"
mkdir "$folder/inner" && echo '{"a": 1}' >"$folder/inner/1.txt"
schema() { "$realmfs" schema "$file"; }
errors() { cat "$point/.realm/errors"; }
before=$(schema)
serve "$file" "$point" || exit

equal "nothing is unsaved at first" "" "$(cat "$point/.realm/unsaved")"
check "files can be copied in" cp "$folder/notes.txt" "$point/"
check "into a class, too" cp "$folder/notes.txt" "$point/Person/photo 1.jpg"
equal "they are there" "remember the milk" "$(cat "$point/notes.txt")"
equal "and unsaved" $'Person/photo 1.jpg\nnotes.txt' "$(cat "$point/.realm/unsaved")"
said() { errors | jq -s -e --arg path "$1" 'any(.[]; .path == $path and (.reason | test("in memory only")))'; }
check "the errors say so of the one" wait_until 10 said notes.txt
check "and of the other" wait_until 10 said "Person/photo 1.jpg"
check "so does the log" grep -q 'notes.txt: no object can have this name: it is in memory only' "$scratch/server.log"

# Editors and tools make such files all the time.
check "sed -i" sed -i 's/"name": "[^"]*"/"name": "Sed"/' "$point/Person/4.json"
check "a file of an editor" cp "$folder/notes.txt" "$point/Person/.4.json.swp"
check "a backup of an editor" cp "$folder/notes.txt" "$point/Person/4.json~"
check "a file that becomes an object" bash -c 'jq ".age = 41" "$1" >"$1.new" && mv "$1.new" "$1"' - "$point/Person/4.json"
check "an object under another name" mv "$point/Person/11.json" "$point/Person/eleven"
check "a file that goes at once" bash -c 'cp "$1/notes.txt" "$2/passing.txt" && rm "$2/passing.txt"' - "$folder" "$point"
for i in $(seq 12); do cp "$folder/notes.txt" "$point/Dog/note $i"; done
check "many files are one line" wait_until 10 grep -q 'nor those of 11 more files' "$scratch/server.log"
equal "these are no news" "" "$(errors | jq -r .path | grep -E 'swp|~|new|eleven|passing')"
equal "and not unsaved" 14 "$(wc -l <"$point/.realm/unsaved")"
rm "$point"/Dog/note*
check_status "a refused text" 1 'Invalid argument' bash -c 'echo "{\"age\": \"old\"}" >"$1"' - "$point/Person/4.json"
equal "is unsaved, too" 1 "$(grep -c '^.realm/rejected/Person/4.json$' "$point/.realm/unsaved")"

# A folder that is copied is no change of the schema.
check_status "cp -r of a folder is refused" 1 'Operation not permitted' cp -r "$folder" "$point/"
equal "and leaves no class" "$before" "$(schema)"
check "nor a directory" test ! -e "$point/folder"
check "the errors say why" bash -c 'grep -q "a directory here is a class" "$1"' - "$point/.realm/errors"
deep=$(new_directory deep) && mkdir "$deep/first"
check_status "one that begins with a folder, too" 1 'Operation not permitted' cp -r "$deep" "$point/"
equal "that leaves no class either" "$before" "$(schema)"
check "mkdir makes a class" mkdir "$point/Cat"
check "to which an editor may add its files" touch "$point/Cat/.1.json.swp"
check "and the shell an object" bash -c 'echo "{}" >"$1/Cat/1.json"' - "$point"
check "then it takes other files" cp "$folder/notes.txt" "$point/Cat/"
check "mkdir again" mkdir "$point/Bird"
check "with properties" bash -c \
  'echo "{\"name\": \"Bird\", \"properties\": {\"song\": \"string?\"}}" >"$1/.realm/schema/Bird.json"' - "$point"
check "it takes other files, too" cp "$folder/notes.txt" "$point/Bird/"
check "classes that were there take them" cp "$folder/notes.txt" "$point/Dog/"

mkdir "$point/.realm/tx/open" "$point/.realm/tx/untouched"
echo '{"age": 6}' >"$point/.realm/tx/open/Person/18.json"
output=$("$realmfs" umount "$point" 2>&1)
for path in .realm/tx/open notes.txt 'Person/photo 1.jpg' Cat/notes.txt Bird/notes.txt Dog/notes.txt .realm/rejected/Person/4.json; do
  equal "umount says that $path is gone" 1 "$(grep -cFx "realmfs: $path was in memory only and is gone now" <<<"$output")"
done
equal "and no more" 7 "$(wc -l <<<"$output")"
wait "$server"
check "the log says it to those who unmount otherwise" grep -q '^realmfs: notes.txt: it was in memory only' "$scratch/server.log"
equal "the classes are there" "Dog Person Cat Bird" "$("$realmfs" info --json "$file" | jq -r '[.classes[].name] | join(" ")')"
check_status "the file is sound" 0 'sound|no problem' "$realmfs" check "$file"
