#!/usr/bin/env bash
# Builds and runs the example, and checks its output. With `--package`, it is built as a separate package, including
# realmfs, as users build it; otherwise as a part of this package, which takes seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

flags=(--product todo)
if [ "${1:-}" = --package ]; then flags=(--package-path Examples/Todo --scratch-path .build/examples); fi
# shellcheck disable=SC2206
flags+=(${SWIFTFLAGS:-})
swift build "${flags[@]}"
todo=$(swift build "${flags[@]}" --show-bin-path)/todo
swift package describe --package-path Examples/Todo >/dev/null
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
