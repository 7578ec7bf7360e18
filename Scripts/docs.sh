#!/usr/bin/env bash
# Generates the reference of the libraries as static pages in .build/docs, one directory each. Needs no network
# and no plugin.
set -euo pipefail
cd "$(dirname "$0")/.."

for library in RealmPages RealmSwift; do swift build --target "$library" ${SWIFTFLAGS:-}; done
swift package dump-symbol-graph --minimum-access-level public >/dev/null
for library in RealmPages RealmSwift; do
  graphs=$(mktemp -d)
  find .build -path "*/symbolgraph/$library*.symbols.json" -exec cp {} "$graphs/" \;
  catalog=("Sources/$library"/*.docc)
  [ -d "${catalog[0]}" ] || catalog=()
  docc convert "${catalog[@]}" --additional-symbol-graph-dir "$graphs" --output-path ".build/docs/$library" \
    --fallback-display-name "$library" --fallback-bundle-identifier "org.realmfs.$library"
  rm -rf "$graphs"
done
echo "docs: .build/docs/*/index.html; read them with 'docc preview' or any web server"
