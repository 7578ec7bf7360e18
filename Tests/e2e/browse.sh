#!/usr/bin/env bash
# `realmfs browse` as a process: its URL, requests by curl, changes by other programs, its end, and files without a server.
source "$(dirname "$0")/lib.sh"

command -v curl >/dev/null || {
  skip "curl is not there"
  exit
}
unset SSH_CONNECTION
# A directory for this test, so that files of servers in other tests do not matter.
export TMPDIR=$scratch/tmp
mkdir -p "$TMPDIR"
jar=$scratch/jar

# browse ARGUMENT...: starts the server in the background; its id is in $server, its address in $base.
browse() {
  # A line of an earlier server must not be mistaken for one of this server.
  rm -f "$scratch/url" "$jar"
  env --default-signal=INT "$realmfs" browse "$@" >"$scratch/url" 2>"$scratch/errors" &
  server=$!
  background+=("$server")
  wait_until 60 grep -q token= "$scratch/url" || {
    not_ok "browse $*: $(cat "$scratch/errors")"
    return 1
  }
  url=$(cat "$scratch/url")
  base=${url%%/\?*}
}
# enter: exchanges the token for the cookie, in $jar, and the key.
enter() { key=$(curl -s -c "$jar" -o /dev/null -w '%{redirect_url}' "$url" | sed 's/.*key=//'); }
# get PATH; change METHOD PATH [BODY]: print the answer, then the status.
get() { curl -sg -m 60 -b "$jar" -H "X-Realmfs-Key: $key" -w '\n%{http_code}' "$base$1"; }
change() {
  curl -sg -m 60 -b "$jar" -H "X-Realmfs-Key: $key" -w '\n%{http_code}' -X "$1" -H "Origin: $base" -H 'Content-Type: application/json' \
    ${3:+-d "$3"} "$base$2"
}
# ends WHAT SIGNAL: the signal ends the server with exit code 0.
ends() {
  kill "-$2" "$server"
  wait "$server"
  equal "$1" 0 $?
}

file=$(copy_fixture people)
browse --immutable "$file" || exit
enter
equal "with --immutable the realm is shown" 24 "$(get /api/info | head -1 | jq .format)"
ends "until Ctrl-C" INT
equal "and nothing is made beside it" "$file" "$(ls -d "$file"*)"

before=$(sha256sum <"$file")
browse "$file" Person 'age > 30' || exit
check "the output is one line with a URL of this machine" grep -qxE \
  'http://127\.0\.0\.1:[0-9]+/\?token=[0-9a-f]{32}#/Person\?query=age%20%3E%2030' "$scratch/url"
equal "without the token nothing is answered" 403 "$(curl -s -o /dev/null -w '%{http_code}' "$base/api/info")"
answer=$(curl -s -c "$jar" -o /dev/null -w '%{http_code} %{redirect_url}' "$url")
key=${answer#*key=}
equal "the token is exchanged for a cookie and a key" "303 $base/?key=" "${answer%%"$key"}"
equal "the cookie alone does not suffice" 403 "$(curl -s -b "$jar" -o /dev/null -w '%{http_code}' "$base/api/info")"
equal "once" 403 "$(curl -s -o /dev/null -w '%{http_code}' "$url")"
check "the page is there" grep -q '<!doctype html>' <(get /)
equal "rows" '12 "Person 1"' "$(get '/api/classes/Person/rows?query=age+>+0&limit=1&columns=name' | head -1 |
  jq -c '.count, .rows[0].values.name' | paste -sd ' ')"
equal "a change is refused" 403 "$(change PATCH /api/classes/Person/objects/0 '{"name": "x"}' | tail -1)"

curl -sN -b "$jar" -H "X-Realmfs-Key: $key" "$base/api/changes" >"$scratch/events" &
background+=($!)
check "the stream of changes begins" wait_until 60 grep -q 'event: version' "$scratch/events"
equal "nothing was written" "$before" "$(sha256sum <"$file")"
"$realmfs" set --quiet "$file" Person/4 age=77
check "a commit of another program comes" wait_until 60 grep -q '"class":"Person","key":"1","change":"update"' \
  "$scratch/events"
equal "and its value" 77 "$(get /api/classes/Person/objects/1 | head -1 | jq .json.age)"
equal "versions" '[6,5]' "$(get /api/versions | head -1 | jq -c '[.versions[].version | select(. > 4)]')"
equal "a former version" 6 "$(get '/api/classes?version=6' | head -1 | jq .version)"
equal "a version that is not in the file" 404 "$(get '/api/classes?version=999' | tail -1)"
equal "a download" "$("$realmfs" export "$file" - --class Dog --format csv)" "$(get '/api/export?class=Dog&format=csv' |
  sed '$d')"
ends "Ctrl-C ends it, with an open stream" INT
check "no temporary files are left" bash -c '! ls -d "$TMPDIR"/realmfs-browse-* 2>/dev/null'

browse --write "$file" || exit
enter
equal "an edit is saved" '{"version":7,"changed":true}' \
  "$(change PATCH /api/classes/Person/objects/0 '{"name": "Zoe"}' | head -1 | jq -c .)"
equal "a wrong one is refused" 400 "$(change PATCH /api/classes/Person/objects/0 '{"age": "x"}' | tail -1)"
equal "a deletion is undone" '7 20' "$(
  version=$(change DELETE /api/classes/Person/objects/2 | head -1 | jq .version)
  change POST /api/undo "{\"version\": $version}" | tail -1 >/dev/null
  echo "$((version - 1)) $(($(get /api/classes/Person/rows | head -1 | jq .count) + 1))"
)"
equal "other programs see it" '"Zoe"' "$("$realmfs" cat "$file" Person/-3 | jq .name)"
equal "the page ends it" 200 "$(change POST /api/quit | tail -1)"
wait "$server"
equal "with exit code 0" 0 $?
check "the file is sound" "$realmfs" check "$file"

browse --key-file "$key_file" "$fixtures/people-encrypted.realm" || exit
enter
equal "an encrypted realm" true "$(get /api/info | head -1 | jq .encrypted)"
ends "SIGTERM ends it" TERM

export SSH_CONNECTION='192.0.2.1 1 192.0.2.2 22'
browse --listen localhost:0 "$file" || exit
check "over SSH, the port is forwarded" grep -q "ssh -N -L ${base##*:}:127.0.0.1:${base##*:}" "$scratch/errors"
ends "SIGHUP ends it" HUP
unset SSH_CONNECTION

browse --idle-timeout 1 "$file" || exit
wait_until 60 bash -c '! kill -0 "$1" 2>/dev/null' - "$server"
wait "$server"
equal "without requests, --idle-timeout ends it" 0 $?

mkdir "$scratch/bin" "$scratch/run"
printf '#!/bin/sh\nstat -c %%a "$1" >"%s"\ncp "$1" "%s"\n' "$scratch/mode" "$scratch/page" >"$scratch/bin/xdg-open"
chmod +x "$scratch/bin/xdg-open"
PATH=$scratch/bin:$PATH XDG_RUNTIME_DIR=$scratch/run browse --open "$file" || exit
check "--open opens a file that redirects to the URL" wait_until 60 grep -qF "url=$url\"" "$scratch/page"
equal "that only this user can read" 600 "$(cat "$scratch/mode")"
enter
equal "and that is removed when the URL is opened" '' "$(ls "$scratch/run")"
ends "SIGINT ends it" INT

old=$(find "$fixtures/old" -name '*.realm' | sort | head -1)
browse "$old" || exit
enter
equal "an old format is shown" false "$(get /api/info | head -1 | jq .writable)"
ends "until SIGTERM" TERM

check_status "a class that does not exist" 3 'no class Nobody' "$realmfs" browse "$file" Nobody
check_status "a wrong query" 2 'query: column 6' "$realmfs" browse "$file" Person 'age >> 3'
check_status "a wrong address" 2 'expected HOST:PORT' "$realmfs" browse --listen 8080 "$file"
check_status "a wrong time" 2 'expected a number of seconds' "$realmfs" browse --idle-timeout x "$file"
check_status "an address of another machine" 1 'cannot listen at 192.0.2.1:1' "$realmfs" browse --listen 192.0.2.1:1 "$file"
check_status "an old format is not written" 7 'upgrade' "$realmfs" browse --write "$old"
check_status "a file that is missing" 3 'none.realm' "$realmfs" browse "$scratch/none.realm"

out=$scratch/people.html
check "a file without a server" "$realmfs" browse --static "$out" "$file"
check "has the objects" grep -q '<td>Zoe</td>' "$out"
check "and no script" bash -c '! grep -qi "<script\|https\?://\|src=" "$1"' - "$out"
check_status "it is not replaced" 1 'exists' "$realmfs" browse --static "$out" "$file"
check "of a query" "$realmfs" browse --static "$scratch/some.html" "$file" Person 'age == 77'
equal "it has the objects that match" 1 "$(grep -c '<tr id=' "$scratch/some.html")"
