#!/usr/bin/env bash
# Every change is refused with EROFS, and nothing changes.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
sum=$(sha256sum <"$file")
point=$(new_directory mnt)
"$realmfs" mount -o ro "$file" "$point" || not_ok "mount"
object=$point/Person/4.json
listing=$(ls -lR "$point")
refused() { check_status "$1" 1 'Read-only file system' "${@:2}"; }
refused "create by touch" touch "$point/Person/5.json"
refused "touch of an object" touch "$object"
refused "overwrite" bash -c 'echo "{}" >"$1"' - "$object"
refused "append" bash -c 'echo "{}" >>"$1"' - "$object"
refused "truncate" truncate -s 0 "$object"
refused "rm" rm -f "$object"
refused "rm -r" rm -rf "$point/Person"
refused "rmdir" rmdir "$point/Dog"
refused "mkdir" mkdir "$point/Cat"
refused "mv within a class" mv "$object" "$point/Person/5.json"
refused "mv from outside" bash -c 'echo "{}" >"$2/x.json"; mv "$2/x.json" "$1/Person/77.json"' - "$point" "$scratch"
refused "ln" ln "$object" "$point/Person/link.json"
refused "ln -s" ln -s 4.json "$point/Person/link.json"
refused "chmod" chmod 600 "$object"
refused "chown" chown 1:1 "$object"
refused "mkfifo" mkfifo "$point/Person/pipe"
refused "write below .realm" bash -c 'echo "{}" >"$1/.realm/schema.json"' - "$point"
refused "cp onto an object" cp --remove-destination "$fixtures/README.md" "$object"
check_status "sed -i" 4 'Read-only file system' sed -i s/a/b/ "$object"
equal "the tree is as it was" "$listing" "$(ls -lR "$point")"
"$realmfs" umount "$point" || not_ok "umount"
equal "the file is as it was" "$sum" "$(sha256sum <"$file")"
