#!/usr/bin/env bash
# `realmfs schema --format`: model classes for the SDKs, for every schema of the fixtures.
source "$(dirname "$0")/lib.sh"

for file in "$fixtures"/*.realm; do
  options=()
  [[ $file != *encrypted* ]] || options=(--key-file "$key_file")
  count=$("$realmfs" schema "${options[@]}" "$file" | jq '.schema | length')
  for language in swift kotlin csharp typescript; do
    source_text=$("$realmfs" schema "${options[@]}" --format $language "$file")
    equal "$(basename "$file"): classes in $language" "$count" "$(grep -cE '^(export |public partial )?class ' <<<"$source_text")"
    equal "$(basename "$file"): braces of $language match" "$(tr -cd '{' <<<"$source_text" | wc -c)" \
      "$(tr -cd '}' <<<"$source_text" | wc -c)"
  done
done

file=$fixtures/people.realm
has() { "$realmfs" schema --format "$1" "$file" | grep -qxF -- "$2"; }
check "Swift: primary key" has swift '    @Persisted(primaryKey: true) var _id: Int'
check "Swift: optional, link, list" has swift '    @Persisted var friends: List<Person>'
check "Kotlin: a value that can be null" has kotlin '    var age: Long? = null'
check "C#: a list" has csharp '    public IList<Person> friends { get; } = null!;'
check "TypeScript: an index" has typescript '      name: { type: "string", indexed: true },'
file=$fixtures/name-limits.realm
check "a name with a blank is mapped" has kotlin '    @PersistedName("with space")'
cat >"$scratch/alike.json" <<'JSON'
{"schemaVersion": 1, "schema": [
  {"name": "A b", "properties": {"x y": "int", "x_y": "int", "x-y": "int", "class": "string", "A_b": "int"}},
  {"name": "A_b", "properties": {"link": {"type": "object", "objectType": "A b"}}}]}
JSON
check "names that are alike" "$realmfs" create --schema "$scratch/alike.json" "$scratch/alike.realm"
for language in swift kotlin csharp; do
  equal "are different in $language" "A_b A_b_ class_ link x_y x_y_ x_y__" "$("$realmfs" schema --format $language "$scratch/alike.realm" |
    grep -oE '(class|var|long|string|A_b_\?) (A_b_?|x_y_*|class_|link|q)\b' | sed 's/.* //' | sort -u | tr '\n' ' ' | sed 's/ $//')"
done
cat >"$scratch/words.json" <<'JSON'
{"schemaVersion": 1, "schema": [
  {"name": "date", "properties": {"repeat": "int", "extension": "int", "guard": "int", "internal": "bool", "Self": "int",
    ".": "int", "description": "string", "hash": "string", "one": {"type": "object", "objectType": "date"}}},
  {"name": "List", "properties": {"many": {"type": "list", "objectType": "a<b"}}},
  {"name": "a<b", "properties": {"one": {"type": "object", "objectType": "a<b"}, "when": "date?"}}]}
JSON
check "names like words and types" "$realmfs" create --schema "$scratch/words.json" "$scratch/words.realm"
"$realmfs" schema "$scratch/words.realm" >"$scratch/again.json"
check "are taken from what was printed" "$realmfs" create --schema "$scratch/again.json" "$scratch/again.realm"
equal "and mean the same" "$(cat "$scratch/again.json")" "$("$realmfs" schema "$scratch/again.realm")"
has() { "$realmfs" schema --format "$1" "$scratch/words.realm" | grep -qxF -- "$2"; }
check "stays one in TypeScript" has typescript '      one: { type: "object", objectType: "date" },'
check "a class called like one of the SDK's" has swift 'class List_: Object {'
check "and its elements" has swift '    @Persisted var many: List<a_b>'
check "what objects have already" has swift '    @Persisted var description_: String'
equal "the JSON of TypeScript's schema is what create takes" "0" "$(
  "$realmfs" schema "$file" >"$scratch/s.json" && "$realmfs" create --schema "$scratch/s.json" "$scratch/x.realm"
  echo $?
)"
check_status "an unknown language" 2 'json, swift, kotlin, csharp, typescript, dot, mermaid, svg' "$realmfs" schema --format cobol "$file"
if [ -z "${NO_SWIFTC:-}" ] && command -v swiftc >/dev/null; then
  for name in people name-limits all-types embedded; do
    "$realmfs" schema --format swift "$fixtures/$name.realm" >"$scratch/$name.swift"
    check "$name: swiftc parses it" swiftc -frontend -parse "$scratch/$name.swift"
  done
  "$realmfs" schema --format swift "$scratch/words.realm" >"$scratch/words.swift"
  check "names like words: swiftc parses it" swiftc -frontend -parse "$scratch/words.swift"
else
  skip "swiftc is absent: the Swift source was not parsed"
fi

# drawings: a box for each class, an arrow for each property that links
for item in "$fixtures"/*.realm; do
  name=$(basename "$item" .realm) options=()
  [[ $name != *encrypted* ]] || options=(--key-file "$key_file")
  classes=$("$realmfs" schema "${options[@]}" "$item" | jq '.schema | length')
  links=$("$realmfs" schema "${options[@]}" "$item" | jq '[.schema[].name] as $names | [.schema[].properties[] | select(.objectType as $t | $names | index($t))] | length')
  for format in dot mermaid svg; do "$realmfs" schema "${options[@]}" --format $format "$item" >"$scratch/drawing.$format"; done
  equal "$name: dot" "$classes $links" "$(grep -c 'label=<' "$scratch/drawing.dot") $(grep -c -- '->' "$scratch/drawing.dot")"
  equal "$name: mermaid" "$classes $links" "$(grep -c '^  class ' "$scratch/drawing.mermaid") $(grep -cE '^  c[0-9]+ (-->|\*--)' "$scratch/drawing.mermaid")"
  equal "$name: svg is XML with a box and an arrow for each" "$classes $links" "$(python3 - "$scratch/drawing.svg" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
space = "{http://www.w3.org/2000/svg}"
boxes = [r for r in root.findall(space + "rect") if r.get("fill") == "#dde"]
frames = [tuple(int(r.get(k)) for k in ("x", "y", "width", "height")) for r in root.findall(space + "rect") if r.get("fill") == "#f8f8ff"]
for i, (x, y, w, h) in enumerate(frames):
    for X, Y, W, H in frames[:i]:
        assert x >= X + W or X >= x + w or y >= Y + H or Y >= y + h, "boxes overlap"
print(len(boxes), len(root.findall(space + "path")))
PYTHON
)"
  if command -v dot >/dev/null; then check "$name: graphviz draws it" dot -Tsvg -o /dev/null "$scratch/drawing.dot"; fi
done
