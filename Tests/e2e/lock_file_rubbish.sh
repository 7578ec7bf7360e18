#!/usr/bin/env bash
# The lock file is memory that all users with write access to the realm share. Whatever one of them writes into it, into
# the mutexes or elsewhere, a call of another program may fail, but no program crashes.
source "$(dirname "$0")/lib.sh"

here=$repository/Tests/e2e
compiler=$(command -v cc || command -v gcc || command -v clang) || { skip "no C compiler" && exit; }

# ---- our mutexes are compatible with other programs ----

"$compiler" -O2 -w -pthread -I "$repository/Sources/CLinux" "$here/robust_mutexes.c" \
  "$repository/Sources/CLinux/robust_mutex.c" -o "$scratch/robust_mutexes" || { not_ok "the C compiler fails" && exit; }
timeout 120 "$scratch/robust_mutexes" || not_ok "robust_mutexes ended with status $?"

# ---- a mount and commands, while another program writes rubbish ----

"$compiler" -O2 -w "$here/lock_file_rubbish.c" -o "$scratch/rubbish" || { not_ok "the C compiler fails" && exit; }
point=$(new_directory mnt)

# work SECONDS: reads and saves through the mount, and prints the outcomes.
work() {
  python3 - "$point/Person" "$1" <<'PYTHON'
import errno, os, sys, time
person, end, seen, age = sys.argv[1], time.monotonic() + float(sys.argv[2]), set(), 0
while time.monotonic() < end and "ENOTCONN" not in seen:
    age += 1
    try:
        open(f"{person}/4.json").read()
        handle = os.open(f"{person}/18.json", os.O_WRONLY | os.O_TRUNC)
        try: os.write(handle, b'{"age": %d}' % age)
        finally: os.close(handle)
    except OSError as error:
        seen.add(errno.errorcode[error.errno])
        time.sleep(0.001)
print(*sorted(seen & {"ENOTCONN", "ECONNABORTED"}))
PYTHON
}

# rubbish WHAT FIXTURE FIRST COUNT [OPTION]...
rubbish() {
  local what=$1 file first=$3 count=$4 writer statuses
  file=$(copy_fixture "$2")
  shift 4
  serve "$file" "$point" -o lock_timeout=0.2 "$@" || return
  "$scratch/rubbish" "$file.lock" "$first" "$count" 1 &
  writer=$!
  background+=("$writer")
  equal "$what: the mount answers" "" "$(work 3)"
  statuses=$(for _ in 1 2; do
    timeout 60 "$realmfs" query "$@" "$file" Person >/dev/null 2>&1
    echo $?
    timeout 60 "$realmfs" set "$@" "$file" Person/4 age=4 >/dev/null 2>&1
    echo $?
  done)
  equal "$what: commands end as usual" "" "$(grep -vE '^[0-9]$' <<<"$statuses" | sort -u)"
  { kill -9 "$writer" && wait "$writer"; } 2>/dev/null
  if is_dead "$server"; then not_ok "$what: the server is there"; else ok "$what: the server is there"; fi
  crash_server
  umount -l "$point"
}

# The three mutexes are at bytes 48 to 168; 0 means the whole file.
rubbish "mutexes" people 48 120
rubbish "the whole file" people 0 0
rubbish "version list" people 432 0
rubbish "an encrypted realm" people-encrypted 0 0 --key-file "$key_file"

file=$(copy_fixture people)
serve "$file" "$point" && equal "a realm without such users" 19 "$(ls "$point/Person" | wc -l)"
stop_server "$point"
