#!/usr/bin/env bash
# compact, rekey, decrypt and upgrade killed before each call that changes something on disk: the old file or the new
# one is there, whole, and the next run leaves nothing of the one that was killed. The order of the calls promises the
# same for a power cut.
source "$(dirname "$0")/lib.sh"

compiler=$(command -v cc || command -v gcc || command -v clang) || { skip "no C compiler" && exit; }

# A library that counts the calls, notes them in CALLS, and ends the process before the one of number KILL_AT.
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
ON_PATH(int, linkat, (int a, const char *from, int b, const char *to, int flags), to, (a, from, b, to, flags))
int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  if (flags & (O_CREAT | O_WRONLY | O_RDWR) && strncmp(path, "/proc", 5) && strncmp(path, "/dev", 4)) {
    count("open", path, -1);
    if ((flags & O_TMPFILE) == O_TMPFILE && getenv("NAMED")) {
      errno = EOPNOTSUPP;
      return -1;
    }
  }
  return NEXT("open", int (*)(const char *, int, ...))(path, flags, mode);
}
C
"$compiler" -shared -fPIC -O1 -w "$scratch/calls.c" -o "$scratch/calls.so" -ldl || { skip "the C compiler fails" && exit; }

old_key=$key_file new_key=$scratch/new.key
head -c 64 /dev/urandom >"$new_key"
folder=$(new_directory place)
file=$folder/a.realm

# content: what the file holds, with whichever key opens it; nothing if it is not sound.
content() {
  local options
  for options in "" "--key-file $old_key" "--key-file $new_key"; do
    # shellcheck disable=SC2086
    "$realmfs" check $options "$file" >/dev/null 2>&1 && "$realmfs" export $options "$file" && return
  done
}

# strangers: the files in the folder that belong neither to the realm nor to those who have it open.
strangers() { find "$folder" -mindepth 1 ! -name 'a.realm' ! -name '*.lock' ! -path '*.management*' ! -name '*.note' \
  ! -name '*.backup.realm'; }

# run [KILL_AT] COMMAND...: a command on a fresh copy of the fixture, with its calls in the log.
run() {
  rm -rf "${folder:?}"/*
  cp "$fixture" "$file"
  { CALLS=$scratch/log KILL_AT=$1 LD_PRELOAD=$scratch/calls.so "$realmfs" "${@:2}" "$file" >/dev/null 2>&1; } 2>/dev/null
}

# killed WHAT FIXTURE COMMAND...: runs the command killed before its first call, its second, and so on; of many calls
# some in the middle, and the last ones, which name the file.
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
    # Whatever was killed, the command can be given again; where the first was done already, that is refused.
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
# Where files cannot be without a name.
export NAMED=1
killed "compact in a named file" "$fixtures/people.realm" compact
killed "upgrade in named files" "$fixtures/old/v5-core-1.5.1.realm" upgrade

# A power cut: the content is on disk before the name, and the name before the command ends.
fixture=$fixtures/items-10k.realm
run 0 compact
order=$(awk '$1 == "pwrite" || $1 == "pwrite64" {last = NR} $1 == "fsync" && !synced {synced = NR}
  $1 == "rename" && $2 ~ /a.realm$/ {renamed = NR} $1 == "fsync" && $2 ~ /place$/ {directory = NR}
  END {print (last && last < synced && synced < renamed && renamed < directory) ? "right" : "wrong"}' "$scratch/log")
equal "content, then name, then directory come to disk" right "$order"
