#!/usr/bin/env bash
# Every recipe of docs/COOKBOOK.md does what the document shows.
source "$(dirname "$0")/lib.sh"

for tool in jq sqlite3 git; do
  command -v $tool >/dev/null || {
    skip "$tool is absent, which the recipes use"
    exit
  }
done
python3 "$(dirname "$0")/cookbook.py" "$repository/docs/COOKBOOK.md" "$fixtures" "$realmfs"
equal "there are at least 20 recipes" "yes" \
  "$([ "$(grep -cE '^## [0-9]+\.' "$repository/docs/COOKBOOK.md")" -ge 20 ] && echo yes)"
check "the picture of the README shows what happens" \
  bash -c 'REALMFS=$1 python3 "$2/Scripts/picture.py" | cmp - "$2/docs/terminal.svg"' - "$realmfs" "$repository"
