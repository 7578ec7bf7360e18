#!/usr/bin/env bash
# The realm file is moved, replaced, rewritten or removed in every way, while its mount is idle, is read, has a handle with
# unsaved text, or has saves that are not on disk yet. replaced_realm.py has the table.
source "$(dirname "$0")/lib.sh"
export realmfs fixtures scratch shared
python3 "$repository/Tests/e2e/replaced_realm.py" "$@"
