#!/usr/bin/env bash
# compact, rekey, decrypt and upgrade are killed before each call that changes something on disk: the old file or the new
# one is complete, and the next run removes everything else. The order of the calls guarantees the same for a power cut.
# set, insert, delete, import and migrations are killed in the same way, and at random times: everything that a command
# has reported exists, and the killed command has made all of its changes or none.
source "$(dirname "$0")/lib.sh"

compiler=$(command -v cc || command -v gcc || command -v clang) || { skip "no C compiler" && exit; }

# A library that counts the calls, lists them in CALLS, and ends the process before call number KILL_AT.
cat >"$scratch/calls.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count(const char *call, const char *path, int fd) {
  static int number;
  static FILE *log;
  char link[64], name[4096] = "";
  const char *at = getenv("KILL_AT");
  if (path == NULL) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, sizeof name - 1);
    name[length < 0 ? 0 : length] = 0;
    path = name;
  }
  if (log == NULL) log = fopen(getenv("CALLS"), "w");
  fprintf(log, "%s %s\n", call, path);
  fflush(log);
  if (at != NULL && atoi(at) > 0 && ++number == atoi(at)) raise(SIGKILL);
}

#define NEXT(name, type) ((type)dlsym(RTLD_NEXT, name))
#define ON_FD(name, parameters, fd, arguments)                                          \
  ssize_t name parameters {                                                             \
    count(#name, NULL, fd);                                                             \
    return NEXT(#name, ssize_t(*) parameters) arguments;                                \
  }
#define ON_PATH(type, name, parameters, path, arguments)                                \
  type name parameters {                                                                \
    count(#name, path, -1);                                                             \
    return NEXT(#name, type(*) parameters) arguments;                                   \
  }
ON_FD(pwrite, (int fd, const void *data, size_t size, off_t at), fd, (fd, data, size, at))
ON_FD(pwrite64, (int fd, const void *data, size_t size, off64_t at), fd, (fd, data, size, at))
int ftruncate(int fd, off_t size) { count("ftruncate", NULL, fd); return NEXT("ftruncate", int (*)(int, off_t))(fd, size); }
int fsync(int fd) { count("fsync", NULL, fd); return NEXT("fsync", int (*)(int))(fd); }
int fdatasync(int fd) { count("fsync", NULL, fd); return NEXT("fdatasync", int (*)(int))(fd); }
int fchmod(int fd, mode_t mode) { count("fchmod", NULL, fd); return NEXT("fchmod", int (*)(int, mode_t))(fd, mode); }
ON_PATH(int, unlink, (const char *path), path, (path))
ON_PATH(int, rename, (const char *from, const char *to), to, (from, to))
ON_PATH(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags), to, (a, from, b, to, flags))
ON_PATH(int, renameat, (int a, const char *from, int b, const char *to), to, (a, from, b, to))
ON_PATH(int, unlinkat, (int folder, const char *name, int flags), name, (folder, name, flags))
ON_PATH(int, mkdirat, (int folder, const char *name, mode_t mode), name, (folder, name, mode))
ON_PATH(int, linkat, (int a, const char *from, int b, const char *to, int flags), to, (a, from, b, to, flags))
static int refuses(const char *path, int flags) {
  if (!(flags & (O_CREAT | O_WRONLY | O_RDWR)) || !strncmp(path, "/proc", 5) || !strncmp(path, "/dev", 4)) return 0;
  count("open", path, -1);
  return (flags & O_TMPFILE) == O_TMPFILE && getenv("NAMED") != NULL;
}
#define MODE_AFTER(flags)             \
  va_list list;                       \
  va_start(list, flags);              \
  mode_t mode = va_arg(list, mode_t); \
  va_end(list)
int open(const char *path, int flags, ...) {
  MODE_AFTER(flags);
  if (refuses(path, flags)) return errno = EOPNOTSUPP, -1;
  return NEXT("open", int (*)(const char *, int, ...))(path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
  MODE_AFTER(flags);
  if (refuses(path, flags)) return errno = EOPNOTSUPP, -1;
  return NEXT("openat", int (*)(int, const char *, int, ...))(folder, path, flags, mode);
}
C
"$compiler" -shared -fPIC -O1 -w "$scratch/calls.c" -o "$scratch/calls.so" -ldl || { skip "the C compiler fails" && exit; }

old_key=$key_file new_key=$scratch/new.key
head -c 64 /dev/urandom >"$new_key"
folder=$(new_directory place)
file=$folder/a.realm

# content: the objects of the file, with whichever key opens it; empty if it is not sound.
content() {
  local options
  for options in "" "--key-file $old_key" "--key-file $new_key"; do
    # shellcheck disable=SC2086
    "$realmfs" check $options "$file" >/dev/null 2>&1 && "$realmfs" export $options "$file" && return
  done
}

# strangers: the files in the folder that belong neither to the realm nor to programs that have it open.
strangers() { find "$folder" -mindepth 1 ! -name 'a.realm' ! -name '*.lock' ! -path '*.management*' ! -name '*.note' \
  ! -name '*.backup.realm'; }

# run [KILL_AT] COMMAND...: a command on a fresh copy of the fixture, with its calls in the log.
run() {
  rm -rf "${folder:?}"/*
  cp "$fixture" "$file"
  { CALLS=$scratch/log KILL_AT=$1 LD_PRELOAD=$scratch/calls.so "$realmfs" "${@:2}" "$file" >/dev/null 2>&1; } 2>/dev/null
}

# killed WHAT FIXTURE COMMAND...: kills the command before its first call, its second, and so on; if there are many calls,
# before some in the middle and before the last ones, which name the file.
killed() {
  local what=$1 fixture=$2 total wrong=0 left=0 alive=0 number want
  shift 2
  run 0 "$@"
  total=$(wc -l <"$scratch/log")
  want=$(content | sha256sum)
  for number in $(seq 1 $(((total + 5) / 6)) "$total") $(seq $((total > 10 ? total - 10 : 1)) "$total"); do
    run "$number" "$@"
    [ $? -eq 137 ] || alive=$((alive + 1))
    [ "$(content | sha256sum)" = "$want" ] || wrong=$((wrong + 1))
    # The command can be run again, unless the first run had finished: then it is refused.
    "$realmfs" "$@" "$file" >/dev/null 2>&1
    [ "$(content | sha256sum)" = "$want" ] || wrong=$((wrong + 1))
    [ -z "$(strangers)" ] || left=$((left + 1))
  done
  equal "$what: killed at each of the chosen calls of $total" 0 "$alive"
  equal "$what: the content, after each kill and after the run that followed" 0 "$wrong"
  equal "$what: nothing is left of a killed run by the next" 0 "$left"
}

killed "compact" "$fixtures/items-10k.realm" compact
killed "rekey" "$fixtures/people-encrypted.realm" rekey --key-file "$old_key" --new-key-file "$new_key"
killed "decrypt" "$fixtures/people-encrypted.realm" decrypt --key-file "$old_key"
killed "upgrade" "$fixtures/old/v5-core-1.5.1.realm" upgrade
# On a file system without unnamed files.
export NAMED=1
killed "compact in a named file" "$fixtures/people.realm" compact
killed "upgrade in named files" "$fixtures/old/v5-core-1.5.1.realm" upgrade

unset NAMED

checker=$shared/tools/realmcheck.py
# sound: prints the faults of the file.
sound() {
  "$realmfs" check "$file" >"$scratch/said" 2>&1 || { cat "$scratch/said" && return; }
  [ ! -e "$checker" ] || python3 "$checker" verify "$file" >"$scratch/said" 2>&1 || cat "$scratch/said"
}

# state: the content of an unencrypted file.
state() { "$realmfs" export "$file" 2>&1 | sha256sum; }

# changed WHAT COMMAND...: kills a command that changes people.realm, called FILE in it, before some of its calls, above
# all the last ones, which commit the change.
changed() {
  local what=$1 total number before after now bad="" olds=0 kills=0
  shift
  restart() { rm -rf "${folder:?}"/* && cp "$fixtures/people.realm" "$file" && chmod 644 "$file"; }
  restart
  before=$(state)
  { CALLS=$scratch/log LD_PRELOAD=$scratch/calls.so "$realmfs" "${@/#FILE/$file}" >/dev/null 2>&1; } 2>/dev/null
  after=$(state)
  total=$(wc -l <"$scratch/log")
  for number in $(seq 1 6 "$total") $(seq $((total > 8 ? total - 8 : 1)) "$total"); do
    restart
    kills=$((kills + 1))
    { CALLS=$scratch/log KILL_AT=$number LD_PRELOAD=$scratch/calls.so "$realmfs" "${@/#FILE/$file}" >/dev/null 2>&1
    } 2>/dev/null
    [ $? -eq 137 ] || bad+=" $number: not killed;"
    now=$(state)
    if [ "$now" = "$before" ]; then olds=$((olds + 1)); elif [ "$now" != "$after" ]; then bad+=" $number: something else;"; fi
    bad+=$(sound)
    "$realmfs" "${@/#FILE/$file}" >/dev/null 2>&1
    [ "$(state)" = "$after" ] || bad+=" $number: not done by the next run;"
  done
  equal "$what: killed before $kills of $total calls that change something: all or nothing, and sound" "" "$bad"
  if [ "$before" != "$after" ] && [ $olds -gt 0 ]; then ok "$what changes something, and $olds kills came before"; else
    not_ok "$what: $olds kills came before the change"
  fi
}

changed "set" set FILE Person/4 age=1 name=Other
changed "insert" insert FILE Person _id=1000 name=New
changed "delete" delete --yes FILE Person TRUEPREDICATE
echo '{"_id": 4, "name": "Other"}' >"$scratch/Person.jsonl"
changed "import" import --format jsonl --class Person FILE "$scratch/Person.jsonl"

RANDOM=${SEED:-1}
# Random times: the changes of each command that ended with 0 exist at the end.
rm -rf "${folder:?}"/*
cp "$fixtures/people.realm" "$file" && chmod 644 "$file"
for number in $(seq 2000 2024); do
  "$realmfs" insert "$file" Person "_id=$number" >/dev/null 2>"$scratch/said" &
  process=$!
  sleep "0.0$((RANDOM % 30 + 10))"
  { kill -9 $process; } 2>/dev/null
  { wait $process; } 2>/dev/null
  # The command had ended before the kill.
  status=$?
  [ $status -ne 0 ] || echo "$number" >>"$scratch/done"
done
touch "$scratch/done"
missing=$(while read -r number; do "$realmfs" cat "$file" "Person/$number" >/dev/null 2>&1 || echo "$number"; done <"$scratch/done")
equal "insert, killed at random times: each of the $(wc -l <"$scratch/done") of 25 that were done is there" "" "$missing"
equal "and the file is sound" "" "$(sound)"

# A migration, killed while its command runs and at random times: the old realm or the new one remains.
"$realmfs" schema "$fixtures/people.realm" | jq '.schemaVersion = 7' >"$scratch/schema.json"
mkdir -p "$scratch/point"
bad="" olds=0 news=0
for number in $(seq 1 8); do
  rm -rf "${folder:?}"/*
  cp "$fixtures/people.realm" "$file" && chmod 644 "$file"
  before=$(state)
  "$realmfs" mount -f --schema "$scratch/schema.json" \
    --migrate 'for f in "$REALMFS_NEW"/Person/*.json; do echo "{\"age\": 77}" >"$f"; done' "$file" "$scratch/point" \
    >/dev/null 2>&1 &
  process=$!
  background+=("$process")
  if [ "$number" -gt 5 ]; then wait_until 20 is_mounted "$scratch/point"; else sleep "0.$((number * 5 + 10))"; fi
  { kill -9 $process && wait $process; } 2>/dev/null
  grep " fuse.realmfs " /proc/self/mounts | awk '{print $2}' | grep "^$scratch" | while read -r point; do umount -l "$point"; done
  # Its mounts may hold the file a little longer.
  wait_until 20 "$realmfs" check "$file" || bad+=" $number: not sound;"
  now=$(state)
  if [ "$now" = "$before" ]; then olds=$((olds + 1))
  elif [ "$("$realmfs" query --count "$file" Person 'age != 77')" = 0 ]; then news=$((news + 1))
  else bad+=" $number: neither old nor new;"; fi
  bad+=$(sound)
done
equal "a migration, killed 8 times: the realm is as it was ($olds) or all new ($news), and sound" "" "$bad"

# For a power cut: the content is synced before the name, and the name before the command ends.
fixture=$fixtures/items-10k.realm
run 0 compact
order=$(awk '$1 == "pwrite" || $1 == "pwrite64" {last = NR} $1 == "fsync" && !synced {synced = NR}
  $1 ~ /^rename/ && $2 ~ /a.realm$/ {renamed = NR} $1 == "fsync" && $2 ~ /place$/ {directory = NR}
  END {print (last && last < synced && synced < renamed && renamed < directory) ? "right" : "wrong"}' "$scratch/log")
equal "content, then name, then directory come to disk" right "$order"
