#!/usr/bin/env bash
# Builds the example packages and runs them: what they print is what their readers are told.
set -euo pipefail
cd "$(dirname "$0")/.."

swift build --package-path Examples/Todo --scratch-path .build/examples ${SWIFTFLAGS:-}
todo=$(swift build --package-path Examples/Todo --scratch-path .build/examples --show-bin-path)/todo
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TODO_REALM=$folder/list.realm

"$todo" add Buy milk --tag shop
"$todo" add Write the report --high --step "collect the figures" --step "ask Ada" --tag work
"$todo" add Sleep
"$todo" done Buy milk
diff <("$todo" list) - <<'END'
[!] Write the report #work
    - collect the figures
    - ask Ada
[ ] Sleep
[x] Buy milk #shop
2 to do
END
diff <("$todo" list shop) - <<'END'
[x] Buy milk #shop
2 to do
END
"$todo" clear
diff <("$todo" list | tail -2) - <<'END'
[ ] Sleep
2 to do
END
if "$todo" done Nothing 2>"$folder/error"; then exit 1; fi
grep -q 'nothing to do is called "Nothing"' "$folder/error"
echo "examples: todo does what it says"
