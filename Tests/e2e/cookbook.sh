#!/usr/bin/env bash
# The tour and every recipe of docs/COOKBOOK.md, and docs/SKILL.md, print what they show; tables fit terminals of 80 and
# 200 columns.
source "$(dirname "$0")/lib.sh"

for tool in jq sqlite3 git; do
  command -v $tool >/dev/null || {
    skip "$tool is absent, which the recipes use"
    exit
  }
done
python3 "$(dirname "$0")/cookbook.py" "$repository/docs/COOKBOOK.md" "$fixtures" "$realmfs"
python3 "$(dirname "$0")/cookbook.py" "$repository/docs/SKILL.md" "$fixtures" "$realmfs"
equal "the page for agents is one screen" "yes" "$([ "$(wc -l <"$repository/docs/SKILL.md")" -le 80 ] && echo yes)"
equal "there are at least 30 recipes" "yes" \
  "$([ "$(grep -cE '^## [0-9]+\.' "$repository/docs/COOKBOOK.md")" -ge 30 ] && echo yes)"
equal "there is a tour" "## Tour" "$(grep -m1 '^## ' "$repository/docs/COOKBOOK.md")"
check "the picture of the README shows what happens" \
  bash -c 'REALMFS=$1 python3 "$2/Scripts/picture.py" | cmp - "$2/docs/terminal.svg"' - "$realmfs" "$repository"

command -v tmux >/dev/null || {
  skip "tmux is absent: no terminal"
  exit
}
# screen COLUMNS COMMAND: the screen of a terminal of that width after the command.
screen() {
  local session=realmfs-cookbook-$$-$1
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
