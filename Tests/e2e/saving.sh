#!/usr/bin/env bash
# Saving, creating and removing objects; refusals, their errno, and where the reason is.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" -o create_classes || exit
person=$point/Person
version() { cat "$point/.realm/version"; }

# put PATH TEXT: writes and closes like a program; prints nothing, or the name of the errno.
put() {
  python3 -c '
import errno, os, sys
def run(call):
  try: return call()
  except OSError as error:
    print(errno.errorcode[error.errno])
    sys.exit()
handle = run(lambda: os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
text = sys.argv[2].encode()
while text: text = text[run(lambda: os.write(handle, text)):]
run(lambda: os.close(handle))' "$@"
}
# call EXPRESSION ARGUMENT...: a Python call of module os; prints nothing, or the name of the errno.
call() {
  python3 -c '
import ctypes, errno, os, sys
a = sys.argv[2:]
try: exec(sys.argv[1])
except OSError as error: print(errno.errorcode[error.errno])' "$@"
}

# ---- changes ----
start=$(version)
equal "a property" "" "$(put "$person/4.json" '{"age": 99}')"
equal "is changed" 99 "$(jq .age "$person/4.json")"
equal "by one commit" $((start + 1)) "$(version)"
equal "the others keep their values" '["Person 1","Fido",[18]]' "$(jq -c '[.name, .dog, .friends]' "$person/4.json")"
cp "$person/4.json" "$scratch/same.json"
equal "the same text" "" "$(put "$person/4.json" "$(cat "$scratch/same.json")")"
equal "makes no commit" $((start + 1)) "$(version)"
equal "null" "" "$(put "$person/4.json" '{"age": null, "dog": null}')"
equal "clears" "[null,null]" "$(jq -c '[.age, .dog]' "$person/4.json")"
equal "opening with O_TRUNC alone" "" "$(call 'os.close(os.open(a[0], os.O_WRONLY | os.O_TRUNC))' "$person/4.json")"
equal "changes nothing" '"Person 1"' "$(jq .name "$person/4.json")"
equal "truncate to nothing" "" "$(call 'os.truncate(a[0], 0)' "$person/4.json")"
equal "likewise" $((start + 2)) "$(version)"
equal "fsync saves" "41" "$(python3 -c '
import json, os, sys
file = open(sys.argv[1], "w")
file.write("{\"age\": 41}")
file.flush()
os.fsync(file.fileno())
print(json.load(open(sys.argv[1]))["age"])' "$person/4.json")"
equal "two handles patch one object" "[7,\"both\"]" "$(python3 -c '
import json, sys
first, second = open(sys.argv[1], "w"), open(sys.argv[1], "w")
first.write("{\"age\": 7}")
second.write("{\"name\": \"both\"}")
first.close()
second.close()
data = json.load(open(sys.argv[1]))
print(json.dumps([data["age"], data["name"]], separators=(",", ":")))' "$person/4.json")"
equal "a handle shows the size of what it wrote" "9 12" "$(python3 -c '
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_TRUNC)
os.write(file, b"{\"age\": 1")
size = os.fstat(file).st_size
os.write(file, b"2} ")
print(size, os.lseek(file, 0, os.SEEK_END))
os.close(file)' "$person/4.json")"

# ---- new objects and removed ones ----
equal "a new object" "" "$(put "$person/1000.json" '{"name": "Thousand", "friends": [4]}')"
equal "has its name's key" '[1000,"Thousand",[4]]' "$(jq -c '[._id, .name, .friends]' "$person/1000.json")"
equal "and defaults" '[null,"1970-01-01T00:00:00Z"]' "$(jq -c '[.age, .joined]' "$person/1000.json")"
equal "a link to it" "" "$(put "$person/4.json" '{"friends": [1000]}')"
equal "O_EXCL of an object" EEXIST "$(call 'os.open(a[0], os.O_CREAT | os.O_EXCL | os.O_WRONLY)' "$person/4.json")"
equal "an object that is removed" "" "$(call 'os.unlink(a[0])' "$person/1000.json")"
equal "vanishes from links" "[]" "$(jq -c .friends "$person/4.json")"
equal "and from its directory" ENOENT "$(call 'os.stat(a[0])' "$person/1000.json")"
equal "a file that was only made" "" "$(call 'os.close(os.open(a[0], os.O_CREAT | os.O_WRONLY))' "$person/1001.json")"
equal "is there, and empty" "0" "$(stat -c %s "$person/1001.json")"
equal "but no object" "1" "$(find "$person" -type f -size 0 | wc -l)"
equal "until it is written" "" "$(put "$person/1001.json" '{}')"
equal "then it is one" "1001" "$(jq ._id "$person/1001.json")"
rm "$person/1001.json"

# ---- classes without primary key ----
other=$(copy_fixture streaming-form)
second=$(new_directory second)
keep=$server
if serve "$other" "$second"; then
  class=$(find "$second" -mindepth 1 -maxdepth 1 -type d | while read -r directory; do
    jq -e --arg name "$(basename "$directory")" '.schema[] | select(.name == $name) | .primaryKey == null' \
      "$second/.realm/schema.json" >/dev/null && echo "$directory"
  done | head -1)
  if [ -n "$class" ]; then
    count=$(find "$class" -type f | wc -l)
    equal "any name makes an object" "" "$(put "$class/mine.json" '{}')"
    check "that name leads to it" cat "$class/mine.json"
    equal "but is not listed" $((count + 1)) "$(find "$class" -type f | grep -vc mine)"
    equal "a number makes an object with that key" "" "$(put "$class/5000.json" '{}')"
    equal "which is its name" 5000 "$(getfattr --only-values -n user.realm.key "$class/5000.json")"
    equal "the other name removes its object" "" "$(call 'os.unlink(a[0])' "$class/mine.json")"
    equal "and no other" $((count + 1)) "$(find "$class" -type f | wc -l)"
  else
    not_ok "no class without primary key to test with"
  fi
  stop_server "$second"
fi
server=$keep

# ---- scratch files and names ----
equal "a scratch file" "" "$(put "$person/.4.json.swp" 'anything')"
equal "holds anything" "anything" "$(cat "$person/.4.json.swp")"
equal "and is listed" "1" "$(find "$person" -name '.*.swp' | wc -l)"
equal "is renamed" "" "$(call 'os.rename(a[0], a[1])' "$person/.4.json.swp" "$person/x~")"
equal "and removed" "" "$(call 'os.unlink(a[0])' "$person/x~")"
equal "an object's name does not change" EPERM "$(call 'os.rename(a[0], a[1])' "$person/4.json" "$person/5.json")"
equal "nor its class" EPERM "$(call 'os.rename(a[0], a[1])' "$person/4.json" "$point/Dog/x.json")"
links=$(jq -c .friends "$person/-3.json")
equal "a name that is moved away" "" "$(call 'os.rename(a[0], a[1])' "$person/4.json" "$person/4.json~")"
equal "is gone" ENOENT "$(call 'os.stat(a[0])' "$person/4.json")"
equal "and its text is there under the other" '"both"' "$(jq .name "$person/4.json~")"
equal "removing that" "" "$(call 'os.unlink(a[0])' "$person/4.json~")"
equal "shows the object again" '"both"' "$(jq .name "$person/4.json")"
equal "with all links to it" "$links" "$(jq -c .friends "$person/-3.json")"
rename2() {
  call 'libc = ctypes.CDLL(None, use_errno=True)
if libc.renameat2(-100, a[0].encode(), -100, a[1].encode(), int(a[2])) != 0: raise OSError(ctypes.get_errno(), "")' "$@"
}
put "$person/scratch" '{"age": 12}'
equal "RENAME_NOREPLACE" EEXIST "$(rename2 "$person/scratch" "$person/4.json" 1)"
equal "RENAME_EXCHANGE" "" "$(rename2 "$person/scratch" "$person/4.json" 2)"
equal "gives the object the text" 12 "$(jq .age "$person/4.json")"
equal "and the file what was there" '"both"' "$(jq .name "$person/scratch")"
rm "$person/scratch"

# ---- refusals ----
refused() {
  local what=$1 errno=$2 path=$3 text=$4 reason=$5
  equal "$what" "$errno" "$(put "$path" "$text")"
  check_status "$what: the reason is in .realm/errors" 0 "$reason" tail -1 "$point/.realm/errors"
  equal "$what: the text is kept" "$text" "$(cat "$point/.realm/rejected/${path#"$point/"}")"
}
before=$(version)
refused "not JSON" EINVAL "$person/4.json" '{"age": 1' 'line 1'
check_status "the reason is in the file's attribute" 0 'line 1' getfattr -n user.realmfs.error "$person/4.json"
refused "an unknown property" EINVAL "$person/4.json" '{"agee": 1}' 'agee'
refused "a wrong type" EINVAL "$person/4.json" '{"age": "1"}' 'age'
refused "another key than the name" EINVAL "$person/4.json" '{"_id": 5}' 'primary key'
refused "a new object with another key than the name" EINVAL "$person/2001.json" '{"_id": 4}' "4 does not match the primary key in the file name"
refused "a link to nothing" EINVAL "$person/4.json" '{"dog": "Nobody"}' 'Nobody'
refused "a number out of range" ERANGE "$person/4.json" '{"age": 9223372036854775808}' 'age'
refused "a property twice" EINVAL "$person/4.json" '{"age": 1, "age": 2}' 'age'
refused "text after the object" EINVAL "$person/4.json" '{"age": 1} {}' 'line 1'
refused "a text of no bytes by fsync" EINVAL "$person/2000.json" '{"name": 1}' 'name'
equal "an object that was refused is not there" ENOENT "$(call 'os.stat(a[0])' "$person/2000.json")"
head -c 17000000 /dev/zero | tr '\0' x >"$scratch/long"
equal "a string beyond the limit" EFBIG "$(python3 -c '
import errno, os, sys
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
text = b"{\"name\": \"" + open(sys.argv[2], "rb").read() + b"\"}"
try:
  while text: text = text[os.write(handle, text):]
except OSError as error: print(errno.errorcode[error.errno])' "$person/4.json" "$scratch/long")"
equal "a name that is too long" ENAMETOOLONG "$(put "$person/$(printf 'x%.0s' {1..256}).json" '{}')"
equal "nothing of that was committed" "$before" "$(version)"
# told WHAT PATH PATTERN: a refusal is reported in the attribute, in .realm/errors and in the log.
told() {
  check_status "$1: the reason is in .realm/errors" 0 "$3" tail -1 "$point/.realm/errors"
  check_status "$1: and in the attribute" 0 "$3" getfattr -n user.realmfs.error "$2"
}
call 'os.rename(a[0], a[1])' "$person/4.json" "$person/5.json" >"$scratch/answer"
told "a rename" "$person/4.json" 'cannot change'
call 'os.chown(a[0], 12345, -1)' "$person/11.json" >"$scratch/answer"
told "chown" "$person/11.json" 'uid='
call 'os.mkdir(a[0])' "$person/x" >"$scratch/answer"
check_status "mkdir: the reason is in .realm/errors" 0 'Person/x.*contains objects' tail -1 "$point/.realm/errors"
call 'for i in range(150):
  try: os.rename(a[0], a[1])
  except OSError: pass' "$person/4.json" "$person/5.json"
check_status "many that are alike leave the others there" 0 'agee' cat "$point/.realm/errors"
equal "a good text" "" "$(put "$person/4.json" '{"age": 5}')"
equal "takes the reason away" ENODATA "$(call 'os.getxattr(a[0], "user.realmfs.error")' "$person/4.json")"
equal "and the kept text" ENOENT "$(call 'os.stat(a[0])' "$point/.realm/rejected/Person/4.json")"
equal "a computed file" EPERM "$(put "$point/.realm/version" 1)"
equal "chmod to what it is" "" "$(call 'os.chmod(a[0], os.stat(a[0]).st_mode & 0o777)' "$person/4.json")"
equal "chmod to something else" "" "$(call 'os.chmod(a[0], 0o600)' "$person/4.json")"
equal "is remembered" 600 "$(stat -c %a "$person/4.json")"
equal "chown to another owner" EPERM "$(call 'os.chown(a[0], 12345, -1)' "$person/4.json")"
equal "utimens" "" "$(call 'os.utime(a[0], (1, 86400))' "$person/4.json")"
equal "is remembered" 86400 "$(stat -c %Y "$person/4.json")"
equal "mkfifo" EPERM "$(call 'os.mkfifo(a[0])' "$person/pipe")"
equal "a symbolic link" EPERM "$(call 'os.symlink("x", a[0])' "$person/link")"
equal "a hard link" EPERM "$(call 'os.link(a[0], a[1])' "$person/4.json" "$person/hard.json")"
equal "setxattr" ENOTSUP "$(call 'os.setxattr(a[0], "user.x", b"y")' "$person/4.json")"

# ---- classes ----
equal "mkdir adds a class" "" "$(call 'os.mkdir(a[0])' "$point/Cat")"
equal "which is in the schema" 1 "$(jq '[.schema[] | select(.name == "Cat")] | length' "$point/.realm/schema.json")"
equal "mkdir of a class that is there" EEXIST "$(call 'os.mkdir(a[0])' "$point/Cat")"
equal "mkdir within a class" EPERM "$(call 'os.mkdir(a[0])' "$person/x")"
equal "mkdir of a name beyond the limit" ENAMETOOLONG "$(call 'os.mkdir(a[0])' "$point/$(printf 'x%.0s' {1..60})")"
equal "an object of it" "" "$(put "$point/Cat/0.json" '{}')"
equal "rmdir of a class with objects" ENOTEMPTY "$(call 'os.rmdir(a[0])' "$point/Cat")"
equal "its object is removed" "" "$(call 'os.unlink(a[0])' "$point/Cat/0.json")"
equal "rmdir removes the class" "" "$(call 'os.rmdir(a[0])' "$point/Cat")"
equal "which is gone" ENOENT "$(call 'os.stat(a[0])' "$point/Cat")"
equal "rmdir of a class that others link to, and that has objects" ENOTEMPTY "$(call 'os.rmdir(a[0])' "$point/Dog")"
equal "rename of a class" EPERM "$(call 'os.rename(a[0], a[1])' "$point/Dog" "$point/Hound")"
# ---- the schema ----
schema=$point/.realm/schema.json
added=$(jq '(.schema[] | select(.name == "Dog") | .properties.color) = {"type": "string", "optional": true}' "$schema")
equal "a schema with one property more" "" "$(put "$schema" "$added")"
equal "adds it" "null" "$(jq -c .color "$point/Dog/Fido.json")"
less=$(jq '(.schema[] | select(.name == "Dog") | .properties) |= del(.color)' "$schema")
equal "a schema with one less" EINVAL "$(put "$schema" "$less")"
check_status "is refused, for it loses data" 0 'loses' tail -1 "$point/.realm/errors"
equal "with a greater version" "" "$(put "$schema" "$(jq '.schemaVersion = 7' <<<"$less")")"
equal "it is taken" '[7,false]' \
  "$(jq -c '[.schemaVersion, (.schema[] | select(.name == "Dog") | .properties | has("color"))]' "$schema")"
equal "the schema of one class" "" "$(put "$point/.realm/schema/Dog.json" \
  "$(jq '.properties.collar = {"type": "double", "optional": true}' "$point/.realm/schema/Dog.json")")"
equal "likewise" "null" "$(jq -c .collar "$point/Dog/Fido.json")"
check_status "rm -r of a class" 1 'Operation not permitted' rm -r "$person"
equal "leaves no object" "$person" "$(find "$point" -path '*Person*')"
check_status "but its properties" 0 'class Person has properties' tail -1 "$point/.realm/errors"

# ---- the end ----
put "$point/Dog/later" 'x'
stop_server "$point"
check "the realm is sound" "$realmfs" check "$file"
if [ -f "$shared/tools/realmcheck.py" ]; then
  check "and so it is for another checker" python3 "$shared/tools/realmcheck.py" verify "$file"
fi

# ---- write=replace ----
file=$(copy_fixture people)
if serve "$file" "$point" -o write=replace; then
  equal "write=replace" "" "$(put "$point/Person/4.json" '{"name": "only"}')"
  equal "resets what the text does not name" '["only",null,[]]' \
    "$(jq -c '[.name, .age, .friends]' "$point/Person/4.json")"
  stop_server "$point"
fi

# ---- group_commit ----
file=$(copy_fixture people)
if serve "$file" "$point" -o group_commit=200; then
  for name in 4 18 25 39; do echo '{"age": 3}' >"$point/Person/$name.json"; done
  equal "a save of a group can be seen at once" 3 "$(jq .age "$point/Person/39.json")"
  equal "a refused save of a group" EINVAL "$(put "$point/Person/18.json" '{"nothing": 8}')"
  equal "takes no other with it" 3 "$(jq .age "$point/Person/18.json")"
  echo '{"age": 8}' >"$point/Person/4.json"
  equal "fsync brings it to disk" "" "$(sync "$point/Person/4.json" 2>&1)"
  crash_server
  umount -l "$point"
  equal "where a crash cannot take it back" 8 "$("$realmfs" cat "$file" Person/4.json | jq .age)"
fi
if serve "$file" "$point" -o group_commit=60000; then
  echo '{"age": 9}' >"$point/Person/4.json"
  echo '{"age": 10}' >"$point/Person/4.json"
  stop_server "$point"
  equal "unmounting brings all to disk" 10 "$("$realmfs" cat "$file" Person/4.json | jq .age)"
  check "the realm is sound after that" "$realmfs" check "$file"
fi
