#!/usr/bin/env bash
# `realmfs deleted` and .realm/deleted: objects that were deleted and are still in the file.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
equal "a class that does not exist" "$file: no class Persn; did you mean Person? it has Dog, Person" \
  "$("$realmfs" deleted "$file" Persn 2>&1 | sed 's/^realmfs: //')"
before=$("$realmfs" cat "$file" Person/4 | jq -c .)
dog=$("$realmfs" cat "$file" Dog/Fido | jq -c .)
check "objects are deleted" "$realmfs" delete --yes "$file" Person/4 Person/11
check "another commit follows" "$realmfs" delete --yes "$file" Dog/Fido
sum=$(sha256sum "$file")
version=$("$realmfs" info --json "$file" | jq .version)
lines=$("$realmfs" deleted "$file" 2>/dev/null)
equal "each has its last state" "$before" "$(jq -c 'select(.class == "Person" and .key == 4).value' <<<"$lines")"
equal "and the other class its own" "$dog" "$(jq -c 'select(.class == "Dog").value' <<<"$lines")"
equal "with the versions before and after" "$((version - 1)) $version certain deleted" \
  "$(jq -r 'select(.class == "Dog") | "\(.version) \(.freed) \(.confidence) \(.state)"' <<<"$lines")"
equal "the nodes are bytes of the file" "" "$(
  jq -r 'select(.class == "Dog").nodes[] | "\(.offset) \(.length) \(.sha256)"' <<<"$lines" | while read -r offset length sha; do
    [ "$(tail -c +$((offset + 1)) "$file" | head -c "$length" | sha256sum | cut -d' ' -f1)" = "$sha" ] || echo "$offset differs"
  done
)"
equal "one class alone" Dog "$("$realmfs" deleted "$file" Dog 2>/dev/null | jq -r .class | sort -u)"
equal "CSV begins with the names" "class,key,object,state,confidence,version,freed,value,nodes" \
  "$("$realmfs" deleted --format csv "$file" 2>/dev/null | head -1)"
check_status "the hash of the file is reported" 0 "SHA-256 before ${sum%% *}, after ${sum%% *}: unchanged" \
  "$realmfs" deleted --hash "$file"
folder=$(new_directory alone)
cp "$file" "$folder/a.realm"
check "a read-only file is searched" bash -c 'chmod 444 "$2"/a.realm && "$1" deleted --immutable "$2/a.realm"' - "$realmfs" "$folder"
equal "and nothing is created beside it" a.realm "$(ls "$folder")"
equal "the file did not change" "$sum" "$(sha256sum "$file")"
check "an object changes" "$realmfs" set "$file" Person/18 age=77
equal "its former state is found" "$("$realmfs" cat "$fixtures/people.realm" Person/18 | jq -c .)" \
  "$("$realmfs" deleted --former "$file" Person 2>/dev/null | jq -c 'select(.key == 18 and .state == "former").value' | head -1)"

# In a mount.
serve "$file" "$point" || exit
deleted=$point/.realm/deleted
equal "the mount has the same objects" "$before" "$(jq -c . "$deleted/Person/4.json")"
equal "as files" "$("$realmfs" deleted "$file" Person 2>/dev/null | jq -r .key | sort)" "$(basename -s .json -a "$deleted"/Person/* | sort)"
check_status "they are read-only" 1 'Operation not permitted|Permission denied' bash -c 'echo "{}" >"$1/Person/4.json"' - "$deleted"
check_status "one with a link to a deleted object is refused" 1 'Invalid argument' \
  cp "$deleted/Person/4.json" "$point/Person/4.json"
check "that object is copied back" cp "$deleted/Dog/Fido.json" "$point/Dog/Fido.json"
check "and then the first one" cp "$deleted/Person/4.json" "$point/Person/4.json"
equal "and is an object again" "$before" "$(jq -c . "$point/Person/4.json")"
check_status "that is not deleted" 2 'No such file' ls "$deleted/Person/4.json"
check "objects are deleted in the mount" rm "$point/Person/18.json" "$point/Dog/Fido.json"
equal "and found by the command beside the mount" 77 \
  "$("$realmfs" deleted "$file" Person 2>/dev/null | jq 'select(.key == 18).value.age')"
stop_server "$point"
serve "$file" "$point" --immutable || exit
equal "an immutable mount has them, too" 77 "$(jq .age "$point/.realm/deleted/Person/18.json")"
stop_server "$point"
serve "$file" "$point" --read-only || exit
equal "so has a read-only one" 77 "$(jq .age "$point/.realm/deleted/Person/18.json")"
stop_server "$point"

# Objects are restored to the realm.
check_status "what restoring would do" 0 '\+ Dog/Fido.json' "$realmfs" deleted --restore Dog/Fido --dry-run "$file"
check_status "objects are restored in one commit" 0 '2 objects restored' \
  "$realmfs" deleted --restore Dog/Fido --restore Person/18.json "$file"
equal "as they were" "$dog 77" "$("$realmfs" cat "$file" Dog/Fido | jq -c .) $("$realmfs" cat "$file" Person/18 | jq .age)"
check "in a sound file" "$realmfs" check "$file"
check_status "what exists is not restored" 3 "no deleted object Dog/Fido is known for certain" \
  "$realmfs" deleted --restore Dog/Fido "$file"
check_status "and a bad name is refused" 2 "'Dog' is not an object; write CLASS/NAME" "$realmfs" deleted --restore Dog "$file"
# Objects that are not in the file are not reported.
check "a copy has no deleted objects" "$realmfs" backup "$file" "$scratch/copy.realm"
equal "so none are printed" "" "$("$realmfs" deleted "$scratch/copy.realm" 2>/dev/null)"
old=$(ls "$fixtures"/old/v5-*.realm | head -1)
check_status "old formats are refused" 7 "formats 10 and later can" "$realmfs" deleted "$old"
