#!/usr/bin/env bash
# Guids written by .NET SDKs before 10.10: `info` reports them, and --dotnet-guids shows them as the app does.
source "$(dirname "$0")/lib.sh"

source=$shared/fixtures/sdk/v24-dotnet-guids.realm
[ -e "$source" ] || {
  skip "$source is absent, a file of a .NET SDK"
  exit
}
cd "$scratch" || exit 1
cp "$source" guids.realm && chmod 644 guids.realm
stored=1f7ff3f8-c526-5e41-b45c-12dbdc8478c8
shown=f8f37f1f-26c5-415e-b45c-12dbdc8478c8
check_status "info says so" 0 '^UUIDs +apparently in the byte order of .NET SDKs before 10.10; --dotnet-guids' \
  "$realmfs" info guids.realm
equal "also to programs" true "$("$realmfs" info --json guids.realm | jq .dotNetGuids)"
equal "and not of other realms" "" "$("$realmfs" info "$fixtures/all-types.realm" | grep UUIDs)"
equal "without it they are shown as stored" "$stored" "$("$realmfs" cat guids.realm GuidType | head -1 | jq -r ._id)"
equal "cat shows the app's" "$shown" "$("$realmfs" cat --dotnet-guids guids.realm GuidType | head -1 | jq -r ._id)"
equal "cat -o, too" "$shown" "$("$realmfs" cat -o dotnet_guids guids.realm GuidType | head -1 | jq -r ._id)"
check "cat finds an object by it" "$realmfs" cat --dotnet-guids guids.realm "GuidType/$shown"
check_status "and not by the other" 3 . "$realmfs" cat --dotnet-guids guids.realm "GuidType/$stored"
equal "query finds it" "$shown" \
  "$("$realmfs" query --dotnet-guids guids.realm GuidType "_id == uuid($shown)" | jq -r ._id)"
equal "export writes it" "$shown" "$("$realmfs" export --quiet --dotnet-guids --class GuidType guids.realm | head -1 | jq -r ._id)"
point=$(new_directory mnt)
if serve "$scratch/guids.realm" "$point" -o dotnet_guids; then
  equal "a mount names and shows it" "$shown" "$(jq -r ._id "$point/GuidType/$shown.json")"
  check_status "and is read-only" 1 'Read-only file system' bash -c 'echo "{}" >"$1"' - "$point/GuidType/$shown.json"
  stop_server "$point"
fi
check "nothing is changed" cmp "$source" guids.realm
check_status "2: not for a mount that changes the realm" 2 'changes the realm' \
  "$realmfs" mount --dotnet-guids --upgrade guids.realm "$point"
