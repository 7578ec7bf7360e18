#!/usr/bin/env bash
# A text that cannot be saved: every program that writes it fails and reports this, and neither the object nor the links
# to it nor the text are lost.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" || exit
cd "$point/Person" || exit
export object=18.json bad='{"age":"x"}'
printf '%s\n' "$bad" >"$scratch/$object"
new=$scratch/$object
export new
inode=$(stat -c %i $object)
state() {
  echo "$(sha256sum <$object) $(sha256sum <4.json) $(stat -c %i $object)" \
    "$(getfattr --only-values -n user.realm.key $object)" "$(find . -type f ! -name '*.json' | sort | xargs)"
}
before=$(state)
# have PROGRAM: true if it is installed; otherwise reports a skipped test.
have() { command -v "$1" >/dev/null || { skip "$1 is absent"; false; }; }

# refused WHAT COMMAND...: the command ends with an error and a message, and nothing is changed or lost.
refused() {
  local what=$1 output status
  shift
  rm -f "$point/.realm/rejected/Person/$object"
  [ -e "$new" ] || printf '%s\n' "$bad" >"$new"
  output=$("$@" 2>&1 </dev/null)
  status=$?
  if [ $status -eq 0 ]; then not_ok "$what: it ends with 0: ${output:0:300}"; else ok "$what ends with an error"; fi
  if [ -n "$output" ]; then ok "$what says so"; else not_ok "$what: no message"; fi
  equal "$what changes nothing" "$before" "$(state)"
  equal "$what: the text is kept" "x" "$(jq -r .age "$point/.realm/rejected/Person/$object" 2>&1)"
  check_status "$what: the reason is in .realm/errors" 0 "Person/$object.*age" \
    bash -c "grep '\"save\"' '$point/.realm/errors' | tail -1"
  check_status "$what: and in the attribute" 0 age getfattr --only-values -n user.realmfs.error $object
}

for shell in bash dash; do
  have $shell || continue
  refused "echo in $shell" $shell -c 'echo "$bad" >$object'
  refused "printf in $shell" $shell -c 'printf "%s" "$bad" >$object'
  refused "a list with set -e in $shell" $shell -ec 'echo "$bad" >$object; echo "not reached"; exit 0'
done
check_status "appending to an object" 1 'write error' bash -c 'echo "$bad" >>$object'
check_status "appending to a new one" 1 'write error' bash -c 'echo "$bad" >>1234.json'
equal "which is not there then" "" "$(ls 1234.json 2>/dev/null)"
refused "cat" bash -c 'cat "$new" >$object'
refused "tee" bash -c 'tee $object <"$new"'
refused "jq" bash -c 'jq -n "{age: \"x\"}" >$object'
refused "sed" bash -c 'sed "" "$new" >$object'
refused "dd" dd if="$new" of=$object status=none
refused "dd in small pieces" dd if="$new" of=$object bs=5 status=none
refused "cp" cp "$new" $object
have perl && refused "perl print" perl -e 'open(F, ">", $ENV{object}); print F $ENV{bad}; close F or die "close: $!"'
have perl && refused "perl print to standard output" bash -c 'perl -e "print \$ENV{bad}" >$object'
refused "python print" bash -c 'python3 -c "import os; print(os.environ[\"bad\"])" >$object'
refused "python, a file" python3 -c '
import os
with open(os.environ["object"], "w") as file: file.write(os.environ["bad"])'
# As rclone, WebDAV servers and file managers do.
refused "python, removing what it could not write" python3 -c '
import os
try:
  with open(os.environ["object"], "w") as file: file.write(os.environ["bad"])
except OSError:
  os.unlink(os.environ["object"])
  raise'
have node && refused "node" node -e 'require("fs").writeFileSync(process.env.object, process.env.bad)'
have awk && refused "awk" bash -c 'awk "{ print }" "$new" >$object'

# Programs that first remove the file, or rename over it.
refused "mv from elsewhere" mv "$new" $object
equal "mv from elsewhere leaves the source" "$bad" "$(cat "$new" 2>&1)"
refused "cp --remove-destination" cp --remove-destination "$new" $object
refused "install" install -m 644 "$new" $object
refused "tar" bash -c 'tar -C "$(dirname "$new")" -c $object | tar -x'
refused "python, unlinking and writing" python3 -c '
import os
os.unlink(os.environ["object"])
with open(os.environ["object"], "w") as file: file.write(os.environ["bad"])'
refused "renaming" bash -ec 'cp "$new" scratch; trap "rm -f scratch" EXIT; mv scratch $object'
refused "sed -i" sed -i 's/"age": [^,]*/"age": "x"/' $object
have rsync && refused "rsync" rsync -I "$new" $object
have rsync && refused "rsync --inplace" rsync -I --inplace "$new" $object
if have vim; then
  for copy in yes no; do
    refused "vim, backupcopy=$copy" bash -c "vim -u NONE -N -es -c 'set backupcopy=$copy writebackup noswapfile' \
      -c '%s/\"age\": [^,]*/\"age\": \"x\"/' -c 'w' -c 'cq' \$object || { echo vim says nothing; rm -f \$object~; false; }"
  done
fi
equal "its inode is the same after all that" "$inode" "$(stat -c %i $object)"

# A text longer than any single request of the kernel, and more than one text.
python3 - $object <<'PYTHON' >"$scratch/long" 2>&1
import errno, os, sys
def outcome(text, piece):
  handle = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
  try:
    view = memoryview(text)
    while view: view = view[os.write(handle, view[:piece]):]
  except OSError as error: return "write " + errno.errorcode[error.errno]
  finally:
    try: os.close(handle)
    except OSError: pass
  return "taken"
long = b"x" * 3000000
for piece in (1 << 30, 1 << 20, 100000):
  print(outcome(b'{"name": "' + long + b'", "age": ""}\n', piece), outcome(b'{"name": "' + long + b'"}\n', piece),
        outcome(b'{"name": "short"}{"name": "' + long + b'"}', piece))
PYTHON
equal "long texts are judged by their last write" \
  "$(for _ in 1 2 3; do echo "write EINVAL taken write EINVAL"; done)" "$(cat "$scratch/long")"

# Rewriting in place, out of order, and truncating afterwards: a text that is valid in the end is saved.
good=$(jq -c '.age = 51 | .name = "in place"' $object)
equal "over an existing text, out of order" "51" "$(python3 - $object "$good" <<'PYTHON' 2>&1; jq .age $object
import os, sys
text = sys.argv[2].encode()
handle = os.open(sys.argv[1], os.O_RDWR)
for start in list(range(0, len(text), 7))[::-1]: os.pwrite(handle, text[start:start + 7], start)
os.ftruncate(handle, len(text))
os.close(handle)
PYTHON
)"
equal "dd with seek" "52" "$(dd if=<(printf '52') of=$object conv=notrunc bs=1 seek="$(grep -bo '51' $object | cut -d: -f1)" \
  status=none 2>&1; jq .age $object)"
equal "a hole, and then what belongs there" "53" "$(python3 - $object <<'PYTHON' 2>&1; jq .age $object
import os, sys
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
os.pwrite(handle, b"53}", 7)
os.pwrite(handle, b'{"age":', 0)
os.close(handle)
PYTHON
)"
equal "a text that is written, cut and written again" "54" "$(python3 - $object <<'PYTHON' 2>&1; jq .age $object
import os, sys
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
try: os.write(handle, b'{"age": []}')
except OSError: pass
os.ftruncate(handle, 0)
os.pwrite(handle, b'{"age": 54}', 0)
os.close(handle)
PYTHON
)"

# An object that a program removes on purpose is removed.
equal "removed twice, by the program whose text was refused, and by others" \
  "EINVAL EPERM removed; EINVAL EPERM removed" "$(python3 - 25.json 39.json <<'PYTHON' 2>&1
import errno, os, subprocess, sys
def outcome(body):
  try: body()
  except OSError as error: return errno.errorcode[error.errno]
  return "removed"
def write(name):
  with open(name, "w") as file: file.write(os.environ["bad"])
mine, other = sys.argv[1:]
print(outcome(lambda: write(mine)), outcome(lambda: os.unlink(mine)), outcome(lambda: os.unlink(mine)), end="; ")
def remove(): return "EPERM" if subprocess.run(["rm", other], stderr=subprocess.DEVNULL).returncode else "removed"
print(outcome(lambda: write(other)), remove(), remove())
PYTHON
)"
check_status "which .realm/errors explains" 0 "Person/39.json.*remove it again" tail -1 "$point/.realm/errors"
equal "a shell that clears up keeps the object" "52" \
  "$(jq '.age = 52' 60.json >"$scratch/good" && cat "$scratch/good" >60.json; { echo "$bad" >60.json || rm -f 60.json; } 2>/dev/null; jq .age 60.json)"
printf 'all:\n.DELETE_ON_ERROR:\n60.json: FORCE\n\techo "$$bad" >$@\nFORCE:\n' >"$scratch/Makefile"
have make && equal "and so does make" "52" "$(make -s -f "$scratch/Makefile" 60.json >/dev/null 2>&1; jq .age 60.json)"
# If one program removes the object and another creates the name, that is a new object.
printf '%s\n' "$bad" >scratch
check_status "what one program removes and another one replaces" 1 'mv: cannot move' bash -c 'rm 46.json; mv scratch 46.json'
equal "is removed" "" "$(ls 46.json 2>/dev/null)"
check "its text is in the trash" test -s "$point/.realm/trash/Person/46.json"
rm -f scratch

cd / || exit
stop_server "$point"
check "the realm is sound" "$realmfs" check "$file"
if [ -f "$shared/tools/realmcheck.py" ]; then
  check "and so it is for another checker" python3 "$shared/tools/realmcheck.py" verify "$file"
fi
