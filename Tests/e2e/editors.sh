#!/usr/bin/env bash
# However a program saves a file, the object is changed in place: its key, inode and the links to it do not change.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" || exit
cd "$point/Person" || exit
object=18.json
inode=$(stat -c %i $object)
age=100

# A change is checked by the new age, the object key, the inode, the links to and from the object, and the absence of
# leftover files.
state() {
  echo "age $(jq .age $object) key $(getfattr --only-values -n user.realm.key $object) inode $(stat -c %i $object)" \
    "friends $(jq -c .friends $object) of $(jq -c .friends 4.json) left $(find . -type f ! -name '*.json' | sort | xargs)"
}
# saved WHAT COMMAND...: runs the command with a new $age; $new is a file outside the mount with the new text.
saved() {
  local what=$1 output
  shift
  age=$((age + 1))
  new=$scratch/$object
  jq ".age = $age" $object >"$new"
  export age new object
  output=$("$@" 2>&1) || { not_ok "$what: status $?: $output"; return; }
  equal "$what" "age $age key 3 inode $inode friends [60,67,74] of [18] left " "$(state)"
}
# have PROGRAM: true if it is installed; otherwise reports a skipped test.
have() { command -v "$1" >/dev/null || { skip "$1 is absent"; false; }; }
script() { bash -ec "$1" script; }

if have vim; then
  for copy in yes no auto; do
    for backup in backup nobackup; do
      saved "vim, backupcopy=$copy, $backup" script "
        vim -u NONE -N -es -c 'set backupcopy=$copy $backup writebackup swapfile' \
          -c '%s/\"age\": [^,]*/\"age\": '\$age'/' -c 'wq' \$object
        rm -f \$object~"
    done
  done
fi
if have nano && have tmux; then
  keys() {
    local session=realmfs-$$
    tmux -f /dev/null new-session -d -s "$session" -x 100 -y 30 "TERM=screen nano --ignorercfiles $1 $object"
    wait_until 10 script "tmux capture-pane -p -t $session | grep -q joined" || return
    tmux send-keys -t "$session" "C-\\" && sleep 0.3
    tmux send-keys -t "$session" "\"age\": $((age - 1))" Enter && sleep 0.3
    tmux send-keys -t "$session" "\"age\": $age" Enter && sleep 0.3
    tmux send-keys -t "$session" y && sleep 0.3
    tmux send-keys -t "$session" C-o && sleep 0.3
    tmux send-keys -t "$session" Enter && sleep 0.5
    tmux send-keys -t "$session" C-x
    wait_until 5 script "! tmux has-session -t $session" || { tmux kill-session -t "$session"; return 1; }
    rm -f $object~
  }
  saved "nano" keys ""
  saved "nano with a backup" keys "-B"
fi
if have emacs; then
  for copying in nil t; do
    saved "emacs -nw, backup-by-copying $copying" script "
      emacs -nw --batch -Q --eval '(setq backup-by-copying $copying make-backup-files t)' \$object --eval \
        '(progn (re-search-forward \"\\\"age\\\": [^,]*\") (replace-match \"\\\"age\\\": '\$age'\") (save-buffer))'
      rm -f \$object~"
  done
fi
have ed && saved "ed" script 'printf ",s/\"age\": [^,]*/\"age\": $age/\nw\nq\n" | ed -s $object'
saved "sed -i" script 'sed -i "s/\"age\": [^,]*/\"age\": $age/" $object'
saved "sed -i.bak" script 'sed -i.bak "s/\"age\": [^,]*/\"age\": $age/" $object; test -s $object.bak; rm $object.bak'
have perl && saved "perl -i" script 'perl -i -pe "s/\"age\": [^,]*/\"age\": $age/" $object'
have perl && saved "perl -i.bak" script 'perl -i.bak -pe "s/\"age\": [^,]*/\"age\": $age/" $object; rm $object.bak'
have sponge && saved "jq and sponge" script 'jq ".age = $age" $object | sponge $object'
saved "tee" script 'tee $object <"$new"'
saved "a redirection" script 'cat "$new" >$object'
saved "a redirection of one property" script 'echo "{\"age\": $age}" >$object'
saved "cp" cp "$scratch/$object" $object
saved "cp -a" cp -a "$scratch/$object" $object
saved "cp --remove-destination" cp --remove-destination "$scratch/$object" $object
saved "mv from outside" mv "$scratch/$object" $object
saved "a temporary file and mv" script 'cp "$new" temporary; mv temporary $object'
saved "install" install -m 644 "$scratch/$object" $object
saved "dd conv=notrunc" script 'dd if="$new" of=$object conv=notrunc status=none'
if have rsync; then
  saved "rsync" rsync -I "$scratch/$object" $object
  saved "rsync -a" rsync -aI "$scratch/$object" $object
  saved "rsync --inplace" rsync -I --inplace "$scratch/$object" $object
fi
if have patch; then
  saved "patch" script 'diff -u $object "$new" | patch -s $object'
  saved "patch with a backup" script 'diff -u $object "$new" | patch -s -b $object; rm $object.orig'
fi
saved "tar" script 'tar -C "$(dirname "$new")" -c $object | tar -x'
saved "tar --overwrite" script 'tar -C "$(dirname "$new")" -c $object | tar -x --overwrite'
saved "python, writing over" python3 -c '
import json, os
name, age = os.environ["object"], int(os.environ["age"])
data = json.load(open(name))
data["age"] = age
with open(name, "w") as file: json.dump(data, file)'
saved "python, a new file and os.replace" python3 -c '
import json, os, tempfile
name, age = os.environ["object"], int(os.environ["age"])
data = json.load(open(name))
data["age"] = age
with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as file:
  json.dump(data, file)
  file.flush()
  os.fsync(file.fileno())
os.replace(file.name, name)'
saved "python, reading and writing one handle" python3 -c '
import json, os
with open(os.environ["object"], "r+") as file:
  data = json.load(file)
  data["age"] = int(os.environ["age"])
  file.seek(0)
  json.dump(data, file)
  file.truncate()'
if have node; then
  saved "node, writing over" node -e '
    const fs = require("fs"), name = process.env.object
    const data = JSON.parse(fs.readFileSync(name))
    fs.writeFileSync(name, JSON.stringify({...data, age: +process.env.age}))'
  saved "node, a new file and rename" node -e '
    const fs = require("fs"), name = process.env.object
    const data = JSON.parse(fs.readFileSync(name))
    fs.writeFileSync(name + ".1234", JSON.stringify({...data, age: +process.env.age}))
    fs.renameSync(name + ".1234", name)'
fi
if have git; then
  export GIT_DIR=$scratch/git GIT_WORK_TREE=$point GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
  git_all() {
    git init -q && git config user.name n && git config user.email e@example.org && git add -A "$point" &&
      git commit -qm first && cp "$new" $object && git commit -qam second && git checkout -q HEAD~1 -- $object &&
      git checkout -q HEAD -- $object && [ -z "$(git status --porcelain)" ]
  }
  saved "git add, commit and checkout" git_all
  unset GIT_DIR GIT_WORK_TREE
fi

# The whole class, archived and extracted again by tar.
before=$(cat -- *.json | sha256sum)
tar -c . | tar -x
equal "tar of a class out and in changes nothing" "$before" "$(cat -- *.json | sha256sum)"
cd / || exit
stop_server "$point"
check "the realm is sound" "$realmfs" check "$file"
if [ -f "$shared/tools/realmcheck.py" ]; then
  check "and so it is for another checker" python3 "$shared/tools/realmcheck.py" verify "$file"
fi
