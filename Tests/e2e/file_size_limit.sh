#!/usr/bin/env bash
# `ulimit -f`, or `LimitFSIZE=` of a service: a write beyond the file size limit is an ordinary error. The mount returns
# EFBIG and continues; a command prints a remedy and leaves no file; existing files do not change.
source "$(dirname "$0")/lib.sh"

# A program of the same name that sets the limit for realmfs alone.
program=$realmfs
mkdir "$scratch/bin"
limited=$scratch/bin/realmfs
printf '#!/usr/bin/env bash\nulimit -f "$LIMIT"\nexec "%s" "$@"\n' "$program" >"$limited"
chmod +x "$limited"

# ---- a mount ----

file=$(copy_fixture people)
point=$(new_directory mnt)
realmfs=$limited
LIMIT=200 serve "$file" "$point" || exit
realmfs=$program

save() {
  python3 -c '
import errno, json, os, sys
text = json.dumps({"name": "x" * int(sys.argv[2])}).encode()
file = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
while text: text = text[os.write(file, text):]
try: os.close(file)
except OSError as error: print(errno.errorcode[error.errno])' "$@"
}

equal "a save within the limit" "" "$(save "$point/Person/4.json" 100)"
before=$(cat "$point/Person/4.json")
equal "one beyond it is EFBIG at close" EFBIG "$(save "$point/Person/4.json" 900000)"
equal "the object is as it was" "$before" "$(cat "$point/Person/4.json")"
check "the reason says what to do" grep -q "File too large: .*ulimit -f" "$point/.realm/errors"
equal "the refused text can be read" 900000 "$(jq '.name | length' "$point/.realm/rejected/Person/4.json")"
equal "saves within the limit go on" "" "$(save "$point/Person/18.json" 10)"
check "umount" "$realmfs" umount --discard "$point"
wait "$server"
equal "the server ended as usual" 0 $?
check "the file is sound" "$realmfs" check "$file"
check "the saves are there" test "$("$realmfs" cat "$file" Person/4 | jq '.name | length')" = 100

# ---- commands that change a realm ----

python3 -c 'import json; print(json.dumps({"_id": 4, "name": "x" * 900000}))' >"$scratch/Person.jsonl"
before=$(sha256sum <"$file")
export LIMIT=200
check_status "import" 1 'File too large: .*ulimit -f' "$limited" import "$file" "$scratch/Person.jsonl"
LIMIT=60 check_status "set" 1 'File too large: .*ulimit -f' \
  "$limited" set "$file" Person/4 "name=$(head -c 100000 /dev/zero | tr '\0' x)"
equal "the file is as it was" "$before" "$(sha256sum <"$file")"
check "it is sound" "$realmfs" check "$file"
check "without the limit the same import works" "$realmfs" import "$file" "$scratch/Person.jsonl"

# ---- commands that create a file ----

large=$(copy_fixture items-10k)
before=$(sha256sum <"$large")
out=$(new_directory out)
LIMIT=100
for command in "backup $large $out/new" "recover $large $out/new" "compact $large" "encrypt --key-file $key_file $large" \
  "encrypt --key-file $key_file $large $out/new" "export --format csv $large $out/new" \
  "export --format jsonl $large $out/new" "export --format sqlite $large $out/new"; do
  # shellcheck disable=SC2086
  check_status "${command//$scratch\//}" 1 'File too large: .*ulimit -f' "$limited" $command
done
# The spreadsheet library ignores failed writes; the limit applies to each of its temporary files.
for LIMIT in 16 64 200; do
  check_status "export of a spreadsheet, LIMIT=$LIMIT" 1 'File too large: .*ulimit -f' "$limited" export "$large" "$out/new.xlsx"
done
LIMIT=100
"$limited" export "$large" >"$scratch/stream" 2>"$scratch/error"
equal "export to a stream" "1 1" "$? $(grep -c 'File too large: .*ulimit -f' "$scratch/error")"
"$limited" query "$large" Item TRUEPREDICATE --format json >"$scratch/stream" 2>"$scratch/error"
equal "query to a file" "1 1" "$? $(grep -c 'File too large: .*ulimit -f' "$scratch/error")"
equal "nothing was left" "" "$(ls -A "$out")"
equal "the realm is as it was" "$before" "$(sha256sum <"$large")"

# ---- no space at all: for the lock file, for a new realm ----

LIMIT=0
for command in "create $out/new" "export --format json $large $out/new"; do
  # shellcheck disable=SC2086
  check_status "${command//$scratch\//}" 1 'File too large: .*ulimit -f' "$limited" $command
done
rm -f "$large.lock" "$file.lock"
equal "reading needs no room" 10000 "$("$limited" query "$large" Item --count TRUEPREDICATE | tail -1)"
check_status "a change without room for the lock file" 1 'File too large: .*ulimit -f' \
  "$limited" import "$file" "$scratch/Person.jsonl"
equal "nothing was made" "" "$(ls -A "$out")"

# ---- the signal has its usual effect in programs that realmfs starts ----

key='grep SigIgn /proc/self/status >&2; cat '
check_status "programs that are started are not affected" 0 'SigIgn:\s*[0-9a-f]{9}[02468ace][0-9a-f]{6}' \
  "$realmfs" info --key-command "$key$key_file" "$fixtures/people-encrypted.realm"
