#!/usr/bin/env bash
# The forty tasks of docs/TOUR.md print what the document shows; tables fit terminals of 80 and 200 columns.
source "$(dirname "$0")/lib.sh"

for tool in jq sqlite3 python3; do
  command -v $tool >/dev/null || {
    skip "$tool is absent, which the tour uses"
    exit
  }
done
python3 "$(dirname "$0")/cookbook.py" "$repository/docs/TOUR.md" "$fixtures" "$realmfs"
equal "there are forty tasks" "40" "$(grep -cE '^## [0-9]+\.' "$repository/docs/TOUR.md")"

command -v tmux >/dev/null || {
  skip "tmux is absent: no terminal"
  exit
}
# screen COLUMNS COMMAND: what a terminal of that width shows after the command.
screen() {
  local session=realmfs-tour-$$-$1
  tmux -L "$session" new-session -d -x "$1" -y 40 "$2; echo; echo END; exec sleep 60"
  wait_until 10 bash -c 'tmux -L "$1" capture-pane -p | grep -q "^END"' - "$session"
  tmux -L "$session" capture-pane -p
  tmux -L "$session" kill-server
}
for columns in 80 200; do
  screen $columns "'$realmfs' cat '$fixtures/people.realm' Person" >"$scratch/screen"
  equal "$columns columns: a table with its titles" "_id name age" "$(grep -m1 -o '^ *_id  *name  *age' "$scratch/screen" | xargs)"
  equal "$columns columns: an object is one line" "19" "$(grep -c 'Person [0-9]' "$scratch/screen")"
done
check "200 columns show whole dates" grep -q '2020-09-14T12:26:40.000001Z' "$scratch/screen"
screen 80 "'$realmfs' cat '$fixtures/people.realm'" >"$scratch/screen"
check "on a terminal, cat of a file lists its classes" grep -q 'Person' "$scratch/screen"
