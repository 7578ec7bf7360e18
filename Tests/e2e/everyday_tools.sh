#!/usr/bin/env bash
# git, rsync, find, cp, tar, mv, install and mkdir: classes keep their properties, trees can be restored, modes and times
# can be set, and refusals have a reason.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" || exit
have() { command -v "$1" >/dev/null || { skip "$1 is absent"; false; }; }
properties() { jq -c ".schema[] | select(.name == \"$1\") | .properties | keys" "$point/.realm/schema.json"; }
people=$(properties Person)
dogs=$(properties Dog)
last() { tail -1 "$point/.realm/errors"; }

# ---- classes without objects keep their properties ----
original=$scratch/original
cp -r "$point" "$original"
back() { "$realmfs" tx "$point" -- cp -r "$original/." .; }
if have git; then
  export GIT_DIR=$scratch/git GIT_WORK_TREE=$point GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
  git init -q && git config user.name n && git config user.email e@example.org
  (cd "$point" && git add -A && git commit -qm all && git rm -q 'Dog/*.json' && git commit -qm less) ||
    not_ok "git add, commit and rm"
  equal "git rm of all objects leaves the properties" "$dogs" "$(properties Dog)"
  equal "and no object" "" "$(ls "$point/Dog")"
  # The links to the dogs were removed with them.
  check "git checkout brings the objects back" bash -c 'cd "$1" && git checkout -q HEAD~1 -- Dog' - "$point"
  equal "all of them" "$(ls "$original/Dog")" "$(ls "$point/Dog")"
  git rm -q -r --cached Dog Person
  (cd "$point" && git clean -fdq) >/dev/null 2>&1
  equal "git clean -fd removes all objects" "" "$(find "$point" -type f)"
  equal "and no property" "$people $dogs" "$(properties Person) $(properties Dog)"
  unset GIT_DIR GIT_WORK_TREE GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM
  check "a copy in a transaction brings all back" back
fi
rm "$point"/Dog/*.json "$point"/Person/*.json
find "$point" -mindepth 1 -empty -delete 2>/dev/null
equal "find -empty -delete removes no class" "$people $dogs" "$(properties Person) $(properties Dog)"
equal "rmdir of a class with properties is EPERM" "Operation not permitted" \
  "$(rmdir "$point/Dog" 2>&1 | sed 's/.*: //')"
check_status "and says what removes a class" 0 'schema.json.*realmfs class rm' last
"$realmfs" class add "$file" Bare
check "rmdir of a class without properties works" rmdir "$point/Bare"
equal "it is gone" "" "$(properties Bare)"
back
if have rsync; then
  mkdir "$scratch/partial" && cp -r "$original/Person" "$scratch/partial"
  rsync -r --delete "$scratch/partial/" "$point/" >/dev/null 2>&1
  equal "rsync --delete without a folder removes its objects" "" "$(ls "$point/Dog")"
  equal "and no property" "$people $dogs" "$(properties Person) $(properties Dog)"
  equal "and goes on" "$(ls "$original/Person")" "$(ls "$point/Person")"
fi

# ---- a tree with cyclic links ----
empty() { rm -f "$point"/Dog/*.json "$point"/Person/*.json; }
empty
tar cf "$scratch/tree.tar" -C "$original" Dog Person
check_status "tar alone is refused" 2 'Invalid argument' tar xf "$scratch/tree.tar" -C "$point"
check_status "with a reason that says what works" 0 'realmfs tx MOUNTPOINT -- tar xf FILE.*realmfs import FILE DIR' last
check_status "and so does README" 0 'realmfs tx MOUNTPOINT -- tar xf' cat "$point/.realm/README"
for way in "tar xf $scratch/tree.tar" "cp -r $original/. ." "rsync -r $original/ ."; do
  have "${way%% *}" || continue
  rm -rf "$point/.realm/rejected"/*/* && empty
  check "realmfs tx -- ${way%% *}" "$realmfs" tx "$point" -- bash -c "$way"
  equal "brings all back" "" "$(diff -r "$original" "$point")"
done
if have git; then
  git -C "$original" init -q
  git -C "$original" -c user.name=n -c user.email=e@example.org add -A
  git -C "$original" -c user.name=n -c user.email=e@example.org commit -qm all
  empty
  check "realmfs tx -- git checkout" \
    "$realmfs" tx "$point" -- bash -c "git --git-dir='$original/.git' --work-tree=. checkout -q -f HEAD -- ."
  rm -rf "$original/.git"
  equal "brings all back, too" "" "$(diff -r "$original" "$point")"
fi
"$realmfs" schema "$file" | "$realmfs" create --schema - "$scratch/new.realm"
check "realmfs import of the folder" "$realmfs" import "$scratch/new.realm" "$original"
check "makes the same realm" "$realmfs" diff "$file" "$scratch/new.realm"

# ---- modes, times, owners ----
text=$scratch/18.json
cd "$point/Person" || exit
new() { jq ".age = $1" 18.json >"$text" && chmod 600 "$text" && touch -d '2001-02-03 04:05:06' "$text"; }
kept() { equal "$1" "$2 600 2001-02-03 04:05:06" "$(jq .age 18.json) $(stat -c '%a %y' 18.json | cut -c-23)"; }
new 31 && check "cp -p" cp -p "$text" 18.json && kept "sets text, mode and time" 31
new 32 && check "shutil.move of a private file" python3 -c \
  'import shutil, sys; shutil.copy2(sys.argv[1], "18.json.tmp"); shutil.move(sys.argv[1], "18.json")' "$text" &&
  kept "likewise" 32
rm -f 18.json.tmp
new 33 && check "install -m 600 -p" install -p -m 600 "$text" 18.json && kept "too" 33
if have rsync; then
  new 34 && check "rsync -a" rsync -aI "$text" 18.json && kept "as well" 34
  equal "and a second one has nothing to do" "" "$(rsync -ai "$text" 18.json)"
fi
new 35 && check "tar" tar -C "$scratch" --same-owner -cf "$scratch/one.tar" 18.json &&
  check "tar -x" tar -xf "$scratch/one.tar" &&
  equal "sets text and time" "35 2001-02-03 04:05:06" "$(jq .age 18.json) $(stat -c %y 18.json | cut -c-19)"
check_status "chown to another owner" 1 'Operation not permitted' chown 12345 18.json
check_status "has a reason" 0 '18.json.*the owner is that of the realm file' last
if setpriv --reuid=61001 --regid=61001 --clear-groups true 2>/dev/null; then
  cd / && stop_server "$point" && chmod 666 "$file" && chmod 755 "$scratch" && serve "$file" "$point" -o allow_other
  cd "$point/Person" || exit
  jq '.age = 36' 18.json >"$text" && chmod 644 "$text"
  as() { setpriv --reuid=61001 --regid=61001 --clear-groups "$@"; }
  check "cp of another user" as cp "$text" 18.json
  equal "saves" 36 "$(jq .age 18.json)"
  jq '._id = 999' 18.json >"$scratch/999.json" && chmod 640 "$scratch/999.json" && chown 61001 "$scratch/999.json"
  check "cp -a of another user makes an object" as cp -a "$scratch/999.json" 999.json
  equal "with its mode" 640 "$(stat -c %a 999.json)"
  rm -f 999.json
fi
python3 - <<'P' || not_ok "posix_fallocate before a write"
import os
with open("18.json", "r+b") as file:
    os.ftruncate(file.fileno(), 0)
    os.posix_fallocate(file.fileno(), 0, 4096)
    file.write(b'{"age": 37}')
P
equal "posix_fallocate before a write adds nothing" 37 "$(jq .age 18.json)"
: >18.json
echo '{"age": 38}' >>18.json
equal ": >f and >>f" 38 "$(jq .age 18.json)"

# ---- refusals have a reason ----
check_status "mkdir -p below a class that is none" 1 'Operation not permitted' mkdir -p "$point/Cat/kittens/2024"
check_status "says why" 0 'Cat.*a directory here is a class: .*create_classes' last
equal "and leaves nothing" "" "$(properties Cat)"
check_status "ln" 1 'Operation not permitted' ln 18.json other.json
check_status "says why" 0 'Person/other.json.*hard link' last
check_status "mkfifo" 1 'Operation not permitted' mkfifo pipe
check_status "says why" 0 'Person/pipe.*pipe' last
equal "a computed file is not writable" 444 "$(stat -c %a "$point/.realm/version")"
if have emacs; then
  emacs -nw --batch -Q --eval '(setq make-backup-files t)' 18.json --eval \
    '(progn (goto-char (point-min)) (insert "x") (save-buffer))' >/dev/null 2>&1
  check_status "what emacs could not save is kept" 0 '^x' cat "$point/.realm/rejected/Person/18.json"
  rm -f 18.json~ "$point/.realm/rejected/Person/18.json"
fi
# The same without emacs: the file is renamed, a new text is refused, and the previous one is restored.
mv 18.json 18.json~
(echo x >18.json) 2>/dev/null
mv 18.json~ 18.json
equal "a refused text outlives the former one that comes back" x "$(cat "$point/.realm/rejected/Person/18.json")"

# ---- fields ----
memory=$(mktemp -d /dev/shm/realmfs-e2e.XXXXXX)
field=$point/Person/.fields/18/name
printf moved >"$memory/name" && check "mv onto a required property from elsewhere" mv "$memory/name" "$field"
equal "sets it" moved "$(cat "$field")"
printf installed >"$memory/name" && check "install onto it" install -m 644 "$memory/name" "$field"
equal "sets it" installed "$(cat "$field")"
printf copied >"$memory/name" && check "cp --remove-destination onto it" cp --remove-destination "$memory/name" "$field"
equal "sets it" copied "$(cat "$field")"
rm -r "$memory"
# After a value was emptied, the next write is its complete text.
age=$point/Person/.fields/18/age
echo 21 >"$age"
truncate -s 0 "$age"
check "a value is written in place after truncate" bash -c 'printf 5 1<>"$1"' - "$age"
equal "it is not mixed with the former one" 5 "$(cat "$age")"
# Removing an object and creating an empty file under its name does not delete it.
: >"$scratch/18.json"
links=$(jq -c '[.dog, .friends]' "$point/Person/18.json")
# The first removal after the refusal above fails.
rm "$point/Person/18.json" 2>/dev/null
check "install an empty file" install "$scratch/18.json" "$point/Person/18.json"
check_status "an empty file that is installed says why it is not the object" 0 'Person/18.json' last
equal "which is as it was" "$links" "$(jq -c '[.dog, .friends]' "$point/Person/18.json")"
check_status "a property that does not exist" 1 'Invalid argument' bash -c 'echo x >"$1"' - "$point/Person/.fields/18/nmae"
check_status "says which exist" 0 'Person/.fields/18/nmae.*no property .*nmae.*did you mean|it has' last

cd / || exit
stop_server "$point"

# ---- a class without primary key: files of other names ----
plain=$scratch/plain.realm
echo '{"schemaVersion": 1, "schema": [{"name": "Item", "properties": {"label": "string", "n": "int"}}]}' |
  "$realmfs" create --schema - "$plain"
printf '{"label": "a", "n": 1}\n{"label": "b", "n": 2}\n' | "$realmfs" import --quiet --class Item "$plain" -
serve "$plain" "$point" || exit
cd "$point/Item" || exit
version() { cat "$point/.realm/version"; }
two=$(printf '0.json\n1.json')
check "jq >tmp.json && mv" bash -c 'jq ".label = \"x\"" 0.json >tmp.json && mv tmp.json 0.json'
equal "changes the object" '{"label":"x","n":1}' "$(jq -c . 0.json)"
equal "and leaves no other" "$two" "$(ls)"
before=$(version)
echo '{"label": "y"}' >tmp.json
check "a text of one property" mv tmp.json 0.json
equal "changes that one" '{"label":"y","n":1}' "$(jq -c . 0.json)"
equal "in one commit each" $((before + 2)) "$(version)"
check "mkstemp and os.replace" python3 -c '
import json, os, tempfile
file, name = tempfile.mkstemp(suffix=".json", dir=".")
with os.fdopen(file, "w") as file: json.dump({"label": "z", "n": 3}, file)
os.replace(name, "1.json")'
equal "change the object" '{"label":"z","n":3} 0.json 1.json' "$(jq -c . 1.json) $(ls | xargs)"
check "cp 1.json copy.json && mv" bash -c 'cp 1.json copy.json && mv copy.json 0.json'
equal "copy it" '{"label":"z","n":3} 0.json 1.json' "$(jq -c . 0.json) $(ls | xargs)"
check_status "an object keeps its name" 1 'Operation not permitted' mv 0.json 1.json
cd / || exit
stop_server "$point"
for realm in "$file" "$plain"; do
  check "$(basename "$realm") is sound" "$realmfs" check "$realm"
  if [ -f "$shared/tools/realmcheck.py" ]; then
    check "and so it is for another checker" python3 "$shared/tools/realmcheck.py" verify "$realm"
  fi
done
