#!/usr/bin/env bash
# Damage affects only the objects at that location: EIO for them on a mount; exit code 4 and all other objects without a
# mount.
source "$(dirname "$0")/lib.sh"

# Overwrites the nodes in the middle of the file, where the objects are, but not the header and the top array.
file=$(copy_fixture items-10k)
python3 - "$file" <<'PYTHON'
import sys
with open(sys.argv[1], "r+b") as file:
    data = bytearray(file.read())
    ref = int.from_bytes(data[8 * (data[23] & 1):][:8], "little")
    start = len(data) // 3 & ~7
    if start <= ref < start + 4096:
        start += 8192
    file.seek(start)
    file.write(b"\xff" * 2048)
PYTHON
point=$(new_directory mnt)
serve "$file" "$point" || exit 0
whole=0 damaged=0 other=0
for class in $(jq -r 'select(.objects) | .path' "$fixtures/items-10k.tree.jsonl"); do
  "$realmfs" cat "$file" "$class" >"$scratch/lines" 2>"$scratch/messages"
  status=$?
  total=$(jq -r --arg class "$class" 'select(.path == $class) | .objects' "$fixtures/items-10k.tree.jsonl")
  lines=$(wc -l <"$scratch/lines")
  case $status in
    0) equal "$class is whole" "$total" "$lines" ;;
    4)
      damaged=$((damaged + 1))
      if [ -s "$scratch/messages" ] && [ "$lines" -lt "$total" ]; then
        ok "$class is damaged: $lines of $total objects, and $(wc -l <"$scratch/messages") messages"
      else
        not_ok "$class: exit 4, $lines of $total objects, messages: $(head -c 200 "$scratch/messages")"
      fi
      check "$class: what is printed is JSON" jq -e . "$scratch/lines"
      ;;
    *) other=$((other + 1)) ;;
  esac
  # In the mount, every name has its text or fails with EIO.
  while IFS= read -r path; do
    if text=$(cat "$point/$path" 2>&1); then whole=$((whole + 1)); else
      [[ $text == *"Input/output error"* ]] || { other=$((other + 1)); echo "# $text"; }
    fi
  done < <(jq -r --arg class "$class/" 'select(.value) | .path | select(startswith($class))' \
    "$fixtures/items-10k.tree.jsonl" | awk 'NR % 20 == 0')
done
equal "no other failure than EIO and exit code 4" "0" "$other"
if [ $damaged -gt 0 ]; then ok "$damaged classes met the damage"; else not_ok "nothing met the damage"; fi
if [ $whole -gt 0 ]; then ok "$whole of the objects that were tried are whole"; else not_ok "no object was readable"; fi
check "the damage is in .realm/errors" grep -q '"operation": "realm"' "$point/.realm/errors"
check_status "check finds it" 4 'problem' "$realmfs" check "$file"
check "the process lives" kill -0 "$server"
stop_server "$point"
