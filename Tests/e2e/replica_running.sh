#!/usr/bin/env bash
# Every way in which the file of a realm can change while `realmfs replicate` runs, for one realm and for many.
source "$(dirname "$0")/replica_lib.sh"


# run: starts replicating and following.
run() {
  begin
  "$realmfs" replicate --quiet "$file" "$database" >"$scratch/running" 2>&1 &
  follower=$!
  background+=("$follower")
  commit 70
  check "$1: is followed" wait_until 30 same
  before=$(content)
}
has_ended() { ! kill -0 $follower 2>/dev/null; }
# ended WHAT STATUS PATTERN: the command ended with STATUS, and the replica is unchanged.
ended() {
  check "$1: ends" wait_until 30 has_ended
  kill -KILL $follower 2>/dev/null
  wait $follower
  local status=$?
  [[ $status =~ ^($2)$ ]] || not_ok "$1: status $status instead of $2: $(cat "$scratch/running")"
  if grep -qE "$3" "$scratch/running"; then ok "$1: says why"; else not_ok "$1: $(cat "$scratch/running")"; fi
  equal "$1: nothing is lost" "$before" "$(content)"
}
finish() { kill -TERM $follower && wait $follower; }
run "running, everything deleted"
"$realmfs" delete --quiet --yes "$file" Person TRUEPREDICATE
"$realmfs" delete --quiet --yes "$file" Dog TRUEPREDICATE
check "running, everything deleted: followed" wait_until 30 same
equal "running, everything deleted: no row is left" 0 "$(sql 'SELECT count(*) FROM realm."Person"')"
finish
for way in cp mv; do
  run "running, a backup ($way)"
  cp "$file" "$scratch/backup.realm"
  "$realmfs" delete --quiet --yes "$file" Person/11
  wait_until 30 same
  before=$(content)
  $way "$scratch/backup.realm" "$file"
  ended "running, a backup ($way)" '1|4' 'but the replica at version|damaged|overwritten|an empty file'
  run "running, another realm ($way)"
  other
  $way "$scratch/other.realm" "$file"
  ended "running, another realm ($way)" '1|4' 'has taken|damaged|overwritten'
done
run "running, an empty header"
head -c 16 /dev/zero | dd of="$file" conv=notrunc status=none
ended "running, an empty header" '1|4' 'but the replica at version|recover|damaged|overwritten'
run "running, an empty file"
: >"$file"
ended "running, an empty file" '1|4' 'app.realm'
run "running, half a file"
truncate -s 4096 "$file"
ended "running, half a file" '1|4' 'app.realm'
run "running, random bytes"
head -c 8192 /dev/urandom >"$file"
ended "running, random bytes" '1|4|5' 'app.realm'
run "running, no file"
mv "$file" "$scratch/away.realm"
check "running, no file: says so" wait_until 30 grep -q 'the file is gone; the replica keeps its rows' "$scratch/running"
equal "running, no file: nothing is lost" "$before" "$(content)"
mv "$scratch/away.realm" "$file"
commit 71
check "running, the file is back: goes on" wait_until 30 same
rm -rf "$file"*
quietly "$realmfs" create --schema "$scratch/schema.json" "$file"
before=$(content)
ended "running, an empty realm, made anew" 1 'but the replica at version'

# ---- many files ----

forget
users=$scratch/users
mkdir "$users"
for user in a b c d e f; do
  cp "$fixtures/people.realm" "$users/$user.realm"
  chmod 644 "$users/$user.realm"
  for age in 1 2 3; do "$realmfs" set --quiet "$users/$user.realm" Person/4 age=$age; done
done
many=(--source-of "$users/{id}.realm" "$users/*.realm")
"$realmfs" replicate --quiet "${many[@]}" "$database" >"$scratch/many" 2>&1 &
follower=$!
background+=("$follower")
is_same() { [ "$("$realmfs" verify-replica "${many[@]}" "$database" 2>/dev/null | tail -1)" = "$1" ]; }
check "many: are followed" wait_until 30 is_same "6 realms, 0 different, 0 failed"
counts() { sql 'SELECT realm, (SELECT count(*) FROM realm."Person" p WHERE p.realm = s.realm) FROM realm._realmfs s ORDER BY 1' | paste -sd' '; }
other
head -c 16 /dev/zero | dd of="$users/a.realm" conv=notrunc status=none
: >"$users/b.realm"
cp "$scratch/other.realm" "$users/c.realm"
"$realmfs" delete --quiet --yes "$users/d.realm" Person TRUEPREDICATE
rm -rf "$users"/f.realm*
quietly "$realmfs" create --schema "$scratch/schema.json" "$users/f.realm"
states() { sql "SELECT realm || '=' || state FROM realm._realmfs ORDER BY 1" | paste -sd' '; }
is_in() { [ "$(states)" = "$1" ]; }
check "many: only the one that a commit emptied is followed" wait_until 60 is_in \
  "a=failed b=failed c=failed d=following e=following f=failed"
is_empty() { [ "$(counts)" = "a|19 b|19 c|19 d|0 e|19 f|19" ]; }
check "many: the rows of the others stay" wait_until 30 is_empty
# The file may have been read while it was an incomplete copy.
says_why() { [ "$(sql "SELECT reason LIKE '%--accept-replacement%' FROM realm._realmfs WHERE realm = 'c'")" = t ]; }
check "many: the reason is in the database" wait_until 30 says_why
kill -TERM $follower && wait $follower
check_status "many: once says so, too" 1 '4 failed' "$realmfs" replicate --once "${many[@]}" "$database"
check_status "many: --accept-replacement follows what can be read" 1 '' \
  "$realmfs" replicate --quiet --once --accept-replacement "${many[@]}" "$database"
is_empty() { [ "$(counts | sed 's/.*\(c|[0-9]*\).*\(f|[0-9]*\)/\1 \2/')" = "c|13 f|0" ]; }
check "many: and has it" is_empty
