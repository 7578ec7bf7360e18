#!/usr/bin/env bash
# The reference of the library RealmPages as static pages in .build/docs. Needs no network and no plugin.
set -euo pipefail
cd "$(dirname "$0")/.."

swift build --target RealmPages ${SWIFTFLAGS:-}
swift package dump-symbol-graph --minimum-access-level public >/dev/null
graphs=$(mktemp -d)
trap 'rm -rf "$graphs"' EXIT
find .build -path '*/symbolgraph/RealmPages*.symbols.json' -exec cp {} "$graphs/" \;
catalog=(Sources/RealmPages/*.docc)
[ -d "${catalog[0]}" ] || catalog=()
docc convert "${catalog[@]}" --additional-symbol-graph-dir "$graphs" --output-path .build/docs \
  --fallback-display-name RealmPages --fallback-bundle-identifier org.realmfs.RealmPages
echo "docs: .build/docs/index.html; read them with 'docc preview' or any web server"
