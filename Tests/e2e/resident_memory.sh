#!/usr/bin/env bash
# Commands and mounts take little more memory for a realm of 45 MB than for one of 1 MB, pages of the file included.
# alone: it measures memory, which other scripts use up

source "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

cat >schema.json <<'EOF'
[{"name": "Item", "primaryKey": "_id",
  "properties": {"_id": "int", "text": "string", "next": "Item", "others": "Item[]"}}]
EOF
# lines COUNT: objects of 2500 bytes, each with links to 20 others.
lines() {
  python3 - "$1" <<'EOF'
import json, sys
count = int(sys.argv[1])
for key in range(count):
    others = [(key * 7919 + place * 104729) % count for place in range(20)]
    print(json.dumps({"_id": key, "text": f"{key:05}" * 500, "next": others[0], "others": others}))
EOF
}
# peak COMMAND...: its peak memory in MB; its output goes to a file.
peak() {
  python3 - "$@" <<'EOF'
import resource, subprocess, sys
with open("output", "wb") as output:
    code = subprocess.run(sys.argv[1:], stdout=output, stderr=output).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000 if code in (0, 1) else f"exit code {code}")
EOF
}
for size in small:400 large:16000; do
  name=${size%:*}
  lines "${size#*:}" >"$name.jsonl"
  "$realmfs" create --schema schema.json "$name.realm"
  check "import of the $name realm" "$realmfs" import --class Item "$name.realm" "$name.jsonl"
  cp "$name.realm" "$name-copy.realm"
done
check "the large one has more than 40 MB" test "$(stat -c %s large.realm)" -gt 40000000

# little WHAT MB COMMAND...: SIZE in the command is replaced by the realm.
little() {
  local what=$1 most=$2 small large
  shift 2
  small=$(peak "${@//SIZE/small}")
  large=$(peak "${@//SIZE/large}")
  check "$what: $small MB and $large MB" test "$((large - small))" -lt "$most"
}
little check 28 "$realmfs" check SIZE.realm
# Two files of 45 MB: how much the system maps around a page that is read depends on its page cache.
little diff 45 "$realmfs" diff SIZE.realm SIZE-copy.realm
little query 28 "$realmfs" query --count SIZE.realm Item 'text CONTAINS "9999"'
little export 28 "$realmfs" export SIZE.realm SIZE-out
little compact 40 "$realmfs" compact SIZE-copy.realm
"$realmfs" create --schema schema.json small-new.realm
"$realmfs" create --schema schema.json large-new.realm
little import 45 "$realmfs" import --class Item SIZE-new.realm SIZE.jsonl
# Many small objects: the memory for each of them counts.
echo '[{"name": "Small", "primaryKey": "_id", "properties": {"_id": "int"}}]' >numbers.json
for size in few:200000 many:3000000; do
  name=${size%:*}
  seq -f '{"_id": %.0f}' "${size#*:}" >"$name.jsonl"
  "$realmfs" create --schema numbers.json "$name.realm"
done
few=$(peak "$realmfs" import --class Small few.realm few.jsonl)
many=$(peak "$realmfs" import --class Small many.realm many.jsonl)
check "import of many small objects: $few MB and $many MB" test "$((many - few))" -lt 44
check_status "which is sound" 0 'sound' "$realmfs" check many.realm
check_status "which is sound" 0 'sound' "$realmfs" check large-new.realm
check_status "and has the same objects" 0 '^$' "$realmfs" diff large.realm large-new.realm

point=$(new_directory mnt)
for name in small large; do
  serve "$name.realm" "$point" || exit
  find "$point/Item" -name '*.json' -exec cat {} + | sha256sum >/dev/null
  declare "$name=$(awk '/VmHWM/ { print int($2 / 1000) }' "/proc/$server/status")"
  check "umount" "$realmfs" umount "$point"
done
check "reading all files of a mount: $small MB and $large MB" test "$((large - small))" -lt 34
