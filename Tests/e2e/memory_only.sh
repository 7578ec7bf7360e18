#!/usr/bin/env bash
# Files that are copied into a mount and are not objects: they are reported while they can still be saved elsewhere,
# and at unmount; and directories do not become classes by being copied.
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
check_status "no file can be copied into the root" 1 'Operation not permitted' cp "$folder/notes.txt" "$point/"
check "the errors say why" bash -c 'grep -q "notes.txt.*belongs in the directory of a class" "$1"' - "$point/.realm/errors"
check "notes of a file manager can" touch "$point/.directory"
check "into a class a file can be copied" cp "$folder/notes.txt" "$point/Person/photo 1.jpg"
check "and another one" cp "$folder/notes.txt" "$point/Dog/"
equal "they are there" "remember the milk" "$(cat "$point/Dog/notes.txt")"
equal "and unsaved" $'Dog/notes.txt\nPerson/photo 1.jpg' "$(cat "$point/.realm/unsaved")"
# Editors and tools often create such files.
check "sed -i" sed -i 's/"name": "[^"]*"/"name": "Sed"/' "$point/Person/4.json"
check "a file of an editor" cp "$folder/notes.txt" "$point/Person/.4.json.swp"
check "a backup of an editor" cp "$folder/notes.txt" "$point/Person/4.json~"
check "a file that becomes an object" bash -c 'jq ".age = 41" "$1" >"$1.new" && mv "$1.new" "$1"' - "$point/Person/4.json"
check "an object under another name" mv "$point/Person/11.json" "$point/Person/eleven"
check "a file that goes at once" bash -c 'cp "$1/notes.txt" "$2/Dog/passing.txt" && rm "$2/Dog/passing.txt"' - "$folder" "$point"
for i in $(seq 12); do cp "$folder/notes.txt" "$point/Dog/note $i"; done
equal "these are no news" "" "$(errors | jq -r .path | grep -E 'swp|~|new|eleven|passing')"
equal "and not unsaved" 14 "$(wc -l <"$point/.realm/unsaved")"
rm "$point"/Dog/note\ *
check_status "a refused text" 1 'Invalid argument' bash -c 'echo "{\"age\": \"old\"}" >"$1"' - "$point/Person/4.json"
equal "is unsaved, too" 1 "$(grep -c '^.realm/rejected/Person/4.json$' "$point/.realm/unsaved")"

# Copying a folder does not change the schema.
check_status "cp -r of a folder is refused" 1 'Operation not permitted' cp -r "$folder" "$point/"
equal "and leaves no class" "$before" "$(schema)"
check "nor a directory" test ! -e "$point/folder"
check "the errors say why" bash -c 'grep -q "a directory here is a class" "$1"' - "$point/.realm/errors"
check_status "so is mkdir" 1 'Operation not permitted' mkdir "$point/Cat"

mkdir "$point/.realm/tx/open" "$point/.realm/tx/untouched"
echo '{"age": 6}' >"$point/.realm/tx/open/Person/18.json"
# No such file is discarded silently.
check_status "umount refuses" 9 'stays mounted' "$realmfs" umount "$point"
output=$("$realmfs" umount "$point" 2>&1)
for path in .realm/tx/open 'Person/photo 1.jpg' Dog/notes.txt .realm/rejected/Person/4.json; do
  equal "and names $path" 1 "$(grep -cFx "realmfs: $path is in memory only" <<<"$output")"
done
equal "and no more" 5 "$(wc -l <<<"$output")"
check "the mount goes on" test -s "$point/Dog/notes.txt"
other=$(copy_fixture embedded)
check_status "an output file in the mount is refused" 9 'in the mount .* outside of it' "$realmfs" backup "$other" "$point/Dog/copy.realm"
cp "$fixtures/old/v5-core-1.5.1.realm" "$scratch/old.realm" && chmod 644 "$scratch/old.realm"
check_status "a backup folder, too" 9 'in the mount .* outside of it' "$realmfs" upgrade --backup-dir "$point/Dog" "$scratch/old.realm"
check "umount(8) does not ask" umount "$point"
wait "$server"
kept=$(echo "$XDG_STATE_HOME"/realmfs/unsaved/people.realm.*)
check "the log says where the files are" grep -qF "realmfs: Dog/notes.txt: never saved; kept as $kept/Dog/notes.txt" "$scratch/server.log"
equal "they are there" "remember the milk" "$(cat "$kept/Dog/notes.txt")"
equal "the refused text, too" '{"age": "old"}' "$(cat "$kept/rejected/Person/4.json")"
equal "for their owner alone" "700 600" "$(stat -c %a "$kept" "$kept/Dog/notes.txt" | paste -sd' ')"
rm -r "$XDG_STATE_HOME"

serve "$file" "$point" -o create_classes || exit
check "with create_classes, mkdir makes a class" mkdir "$point/Cat"
cp "$folder/notes.txt" "$point/Cat/"
cp "$folder/notes.txt" "$point/Cat/"$'a \001 \n and \u00e9'
check "umount --discard drops what is unsaved" "$realmfs" umount --discard "$point"
wait "$server"
check "and keeps nothing" test ! -e "$XDG_STATE_HOME/realmfs"
encrypted=$(copy_fixture people-encrypted)
serve "$encrypted" "$point" --key-file "$key_file" || exit
cp "$folder/notes.txt" "$point/Dog/"
umount "$point" && wait "$server"
check "of an encrypted realm nothing is written" test ! -e "$XDG_STATE_HOME/realmfs"
check "but the log names it" grep -q 'Dog/notes.txt: never saved; discarded' "$scratch/server.log"
equal "the classes are there" "Dog Person Cat" "$("$realmfs" info --json "$file" | jq -r '[.classes[].name] | join(" ")')"
check_status "the file is sound" 0 'sound|no problem' "$realmfs" check "$file"
