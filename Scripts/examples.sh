#!/usr/bin/env bash
# Builds and runs the examples, and checks their output. With `--package`, the example of RealmSwift is built as a
# separate package, including realmfs, as users build it; otherwise as a part of this package, which takes seconds.
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

# The examples of RealmPages. The reference quotes them.
swift package describe --package-path Examples/Pages >/dev/null
# shellcheck disable=SC2086
pages=$(swift build --show-bin-path ${SWIFTFLAGS:-})
for source in Examples/Pages/Sources/*/main.swift; do
  name=$(basename "$(dirname "$source")")
  # shellcheck disable=SC2086
  swift build --product "$name" ${SWIFTFLAGS:-}
  python3 - "$source" <<'END'
import sys
quoted = open("Sources/RealmPages/RealmPages.docc/Examples.md").read()
if open(sys.argv[1]).read().rstrip() not in quoted:
    sys.exit(f"{sys.argv[1]}: RealmPages.docc/Examples.md quotes it differently")
END
done
realm=$folder/books.realm
diff <("$pages/change-objects" "$realm") <(echo 'books: 2')
diff <("$pages/list-objects" "$realm") - <<'END'
Author (1)
  0: name = Ann
Book (2)
  1: id = 2, title = Late Spring, pages = 200, tags[1]
  2: id = 3, title = Summer, pages = 300, tags[0]
END
diff <("$pages/find-objects" "$realm") - <<'END'
Late Spring
Ann
- Late Spring
- Summer
END
stdbuf -oL "$pages/follow-changes" "$realm" >"$folder/changes" &
until grep -qs version "$folder/changes"; do sleep 0.05; done
"$pages/change-objects" "$realm" >/dev/null
wait $!
diff "$folder/changes" - <<'END'
version 3
class_Book: object 1 has another tags
END
head -c 64 /dev/urandom >"$folder/key"
head -c 64 /dev/urandom >"$folder/other"
for visits in 1 2; do diff <("$pages/encrypted-realm" "$folder/secret.realm" "$folder/key") <(echo "visits: $visits"); done
status=0
"$pages/encrypted-realm" "$folder/secret.realm" "$folder/other" >"$folder/error" || status=$?
[ $status = 6 ]
grep -q 'wrong encryption key' "$folder/error"
if [ "$(id -u)" = 0 ]; then
  mkdir "$folder/full"
  mount -t tmpfs -o size=64k realmfs "$folder/full"
  trap 'umount "$folder/full"; rm -rf "$folder"' EXIT
  status=0
  while [ $status = 0 ]; do
    "$pages/encrypted-realm" "$folder/full/secret.realm" "$folder/key" >"$folder/error" || status=$?
  done
  [ $status = 9 ]
  grep -q 'No space left on device (' "$folder/error"
fi
echo "examples: the programs of RealmPages do what the reference says"
