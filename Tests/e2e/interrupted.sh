#!/usr/bin/env bash
# SIGTERM and Ctrl-C end every command at once, whatever it is doing, and leave no incomplete files. The commands hang in
# the middle of a call, so that only the signal can end them.
source "$(dirname "$0")/lib.sh"

compiler=$(command -v cc || command -v gcc || command -v clang) || { skip "no C compiler" && exit; }

# A library whose call number HANG_AT of the kind HANG_IN leaves a mark and does not return.
cat >"$scratch/hang.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hang(const char *call) {
  static int number;
  const char *in = getenv("HANG_IN"), *at = getenv("HANG_AT");
  if (in == NULL || at == NULL || strcmp(in, call) || ++number != atoi(at)) return;
  unsetenv("HANG_IN");
  close(creat(getenv("HANG_MARK"), 0600));
  if (getenv("GO_ON")) return;
  for (;;) pause();
}

#define NEXT(name, type) ((type)dlsym(RTLD_NEXT, #name))
ssize_t write(int fd, const void *data, size_t size) {
  if (fd == 1 || fd > 5) hang("write");
  return NEXT(write, ssize_t (*)(int, const void *, size_t))(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  hang("pwrite");
  return NEXT(pwrite, ssize_t (*)(int, const void *, size_t, off_t))(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  hang("pwrite");
  return NEXT(pwrite64, ssize_t (*)(int, const void *, size_t, off64_t))(fd, data, size, at);
}
int unlinkat(int folder, const char *path, int flags) {
  // Time for the work to add files to a directory that was just emptied, and to a folder that just went away.
  if (flags == AT_REMOVEDIR && getenv("GO_ON")) usleep(50000);
  int result = NEXT(unlinkat, int (*)(int, const char *, int))(folder, path, flags);
  if (flags == AT_REMOVEDIR && getenv("GO_ON")) usleep(50000);
  return result;
}
int fsync(int fd) {
  hang("fsync");
  return NEXT(fsync, int (*)(int))(fd);
}
void *mmap(void *start, size_t size, int protection, int flags, int fd, off_t at) {
  if (fd >= 0) hang("mmap");
  return NEXT(mmap, void *(*)(void *, size_t, int, int, int, off_t))(start, size, protection, flags, fd, at);
}
int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  // As on a file system that knows no files without a name.
  if ((flags & O_TMPFILE) == O_TMPFILE && getenv("NAMED")) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return NEXT(open, int (*)(const char *, int, ...))(path, flags, mode);
}
C
"$compiler" -shared -fPIC -O1 -w "$scratch/hang.c" -o "$scratch/hang.so" -ldl || { skip "the C compiler fails" && exit; }

folder=$(new_directory place)
file=$folder/a.realm
new_key=$scratch/new.key
head -c 64 /dev/urandom >"$new_key"
"$realmfs" cat "$fixtures/items-10k.realm" Item | sed 's/"qty":/"qty":1/' >"$scratch/items.jsonl"

# begin SIGNAL CALL NUMBER COMMAND...: starts the command, and waits until it hangs in that call.
begin() {
  local signal=$1
  rm -f "$scratch/mark"
  # The shell starts background jobs with SIGINT ignored, and programs respect that.
  HANG_IN=$2 HANG_AT=$3 HANG_MARK=$scratch/mark LD_PRELOAD=$scratch/hang.so env --default-signal=INT \
    "$realmfs" "${@:4}" >/dev/null 2>"$scratch/err" &
  process=$!
  background+=("$process")
  wait_until 20 test -e "$scratch/mark" || { not_ok "$* does not come to the call: $(cat "$scratch/err")" && return 1; }
}

# end SIGNAL: sends it; the exit status of the command is in $status.
end() {
  kill "-$1" "$process"
  # Ten times the longest duration seen, for busy machines.
  { wait_until 10 is_dead "$process"; } 2>/dev/null || { not_ok "SIG$1 is ignored" && kill -9 "$process"; }
  { wait "$process"; } 2>/dev/null
  status=$?
}

strangers() { find "$folder" -mindepth 1 ! -name 'a.realm' ! -name '*.lock' ! -path '*.management*' ! -name '*.note'; }

# interrupted WHAT FIXTURE CALL NUMBER COMMAND...
interrupted() {
  local what=$1 fixture=$2 before
  find "$folder" -mindepth 1 -delete
  cp "$fixture" "$file" && chmod 644 "$file"
  before=$(sha256sum <"$file")
  begin TERM "$3" "$4" "${@:5}" || return
  end TERM
  equal "$what: SIGTERM ends it" 143 "$status"
  equal "$what: and leaves nothing" "" "$(strangers)"
  equal "$what: and the file as it was" "$before" "$(sha256sum <"$file")"
}

people=$fixtures/people.realm items=$fixtures/items-10k.realm secret=$fixtures/people-encrypted.realm
interrupted "info" "$people" write 1 info "$file"
interrupted "schema" "$people" write 1 schema "$file"
interrupted "cat" "$items" write 2 cat "$file" Item
interrupted "query" "$items" write 1 query "$file" Item 'TRUEPREDICATE'
interrupted "check" "$people" write 1 check "$file"
interrupted "check, at the start" "$people" mmap 1 check "$file"
interrupted "diff" "$people" write 1 diff "$file" "$fixtures/all-types.realm"
interrupted "export to standard output" "$items" write 2 export "$file" -
for format in json jsonl csv; do
  interrupted "export --format $format" "$items" write 2 export --format "$format" "$file" "$folder/out"
done
# The command continues meanwhile, and fails when its directory is removed. That did not end it.
GO_ON=1 interrupted "export that goes on" "$items" write 2 export --format json "$file" "$folder/out"
equal "and says so only" "realmfs: interrupted: nothing was left behind" "$(cat "$scratch/err")"
interrupted "export --format sqlite" "$items" pwrite 2 export --format sqlite "$file" "$folder/out"
interrupted "import" "$items" pwrite 1 import --format jsonl --class Item "$file" "$scratch/items.jsonl"
python3 - "$scratch" <<'END'
import shutil, sqlite3, sys
database = sqlite3.connect(sys.argv[1] + "/a.db")
database.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1);")
for suffix in ("", "-wal"): shutil.copy(f"{sys.argv[1]}/a.db{suffix}", f"{sys.argv[1]}/open.db{suffix}")
END
TMPDIR=$folder interrupted "import that copies a database" "$people" write 1 import "$file" "$scratch/open.db"
interrupted "set" "$people" pwrite 1 set "$file" Person/4 age=1
interrupted "insert" "$people" pwrite 1 insert "$file" Person _id=1000
interrupted "delete" "$people" pwrite 1 delete --yes "$file" Person TRUEPREDICATE
interrupted "create" "$people" fsync 1 create --schema <("$realmfs" schema "$people") "$folder/b.realm"
for named in "" 1; do
  export NAMED=$named
  [ "$named" ] || unset NAMED
  how=${named:+, where files need names}
  interrupted "backup$how" "$items" pwrite 2 backup "$file" "$folder/b.realm"
  interrupted "compact$how" "$items" pwrite 2 compact "$file"
  interrupted "encrypt$how" "$items" pwrite 2 encrypt --key-file "$new_key" "$file"
  interrupted "decrypt$how" "$secret" fsync 1 decrypt --key-file "$key_file" "$file"
  interrupted "rekey$how" "$secret" fsync 1 rekey --key-file "$key_file" --new-key-file "$new_key" "$file"
  interrupted "convert$how" "$fixtures/synced.realm" fsync 1 convert --local "$file" "$folder/b.realm"
  interrupted "recover$how" "$items" pwrite 2 recover "$file" "$folder/b.realm"
  interrupted "upgrade$how" "$fixtures/old/v5-core-1.5.1.realm" pwrite 1 upgrade "$file"
done
unset NAMED

# A migration: its command is ended, too, and its mounts are removed.
find "$folder" -mindepth 1 -delete
cp "$people" "$file" && chmod 644 "$file"
"$realmfs" schema "$people" | jq '.schemaVersion = 7 | .schema[0].properties.added = "int?"' >"$scratch/schema.json"
before=$(sha256sum <"$file")
point=$(new_directory mnt)
for signal in TERM INT HUP; do
  rm -f "$scratch/mark"
  env --default-signal=INT "$realmfs" mount -f --schema "$scratch/schema.json" \
    --migrate "echo 1 >\"\$REALMFS_NEW/.realm/errors\"; touch '$scratch/mark'; exec sleep 1000" "$file" "$point" \
    >/dev/null 2>"$scratch/err" &
  process=$!
  background+=("$process")
  wait_until 20 test -e "$scratch/mark" || not_ok "the migration does not begin: $(cat "$scratch/err")"
  end $signal
  equal "a migration: SIG$signal ends it" $((128 + $(kill -l $signal))) "$status"
  equal "a migration: SIG$signal leaves nothing" "" "$(strangers)"
  equal "a migration: SIG$signal leaves the file as it was" "$before" "$(sha256sum <"$file")"
  equal "a migration: SIG$signal leaves no mount" "" "$(grep fuse.realmfs /proc/self/mounts | grep "$scratch")"
done

# The command has left the session: a mount can compact only if no other program has the realm open.
point=$(new_directory mnt)
for signal in TERM INT HUP; do
  find "$folder" -mindepth 1 -delete
  cp "$people" "$file" && chmod 644 "$file"
  serve "$file" "$point" || exit
  cat "$point"/Person/*.json >/dev/null
  begin $signal write 1 export "$file" - || exit
  check_status "an export takes part in the realm" 1 busy bash -c "echo 1 >'$point/.realm/compact'"
  end $signal
  check "SIG$signal ends that too" bash -c "echo 1 >'$point/.realm/compact'"
  stop_server "$point"
done
