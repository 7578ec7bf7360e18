#!/usr/bin/env bash
# The completions of bash, zsh and fish offer the classes, properties and objects of a realm: typed into each shell with
# the tab key, whatever characters the names have. Completing leaves no trace.
source "$(dirname "$0")/lib.sh"

work=$(new_directory work)
cd "$work" || exit 1
# If these are missing, fish generates them from all manual pages.
mkdir -p tools scripts .local/share/fish/generated_completions
export HOME=$work
# A command typed in a shell reports its arguments to the test; calls by the completions go to the program.
cat >tools/realmfs <<END
#!/bin/sh
[ "\$1" = __complete ] && exec '$(realpath "$realmfs")' "\$@"
printf '%s\0' "\$@" END >"\$CALLS"
END
chmod +x tools/realmfs
export PATH=$work/tools:$PATH
"$realmfs" help --completions bash >scripts/realmfs.bash
"$realmfs" help --completions zsh >scripts/_realmfs
"$realmfs" help --completions fish >scripts/realmfs.fish
cat >schema.json <<'END'
{"schema": [
  {"name": "Person", "primaryKey": "name", "properties": {"name": "string", "first name": "string?", "it's": "int?",
    "a$b": "int?", "naïve": "int?", "x\ny": "int?", "dog": "Dog"}},
  {"name": "Dog", "properties": {"age": "int", "name": "string"}},
  {"name": "My Class", "properties": {"a": "int"}}, {"name": "It's", "properties": {"a": "int"}},
  {"name": "Cost$HOME", "properties": {"a": "int"}}, {"name": "Über", "properties": {"a": "int"}},
  {"name": "A:B", "properties": {"a": "int"}}, {"name": "Two\nLines", "properties": {"a": "int"}},
  {"name": "Say \"hi\"!", "properties": {"a": "int"}}]}
END
"$realmfs" create --schema schema.json n.realm
"$realmfs" insert --quiet n.realm Person 'name=Ada Lovelace'
"$realmfs" insert --quiet n.realm Person "name=O'Hara/x"
cp "$fixtures/people.realm" 'my people.realm'
cp "$fixtures/people-encrypted.realm" secret.realm
cp "$key_file" key.hex

# The shells themselves, on a terminal.
for shell in bash:realmfs.bash zsh:_realmfs fish:realmfs.fish; do
  command -v "${shell%%:*}" >/dev/null || {
    skip "${shell%%:*} is absent: its completions were not run"
    continue
  }
  python3 "$repository/Tests/e2e/completions.py" "${shell%%:*}" "$work/scripts/${shell#*:}"
done

# The function of bash, as bash calls it.
bash_offers() {
  bash -c '
    source scripts/realmfs.bash
    COMP_LINE=$1 COMP_POINT=${#1}
    read -ra COMP_WORDS <<<"$1"
    [[ $1 == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _realmfs realmfs "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
    printf "%s|" "${COMPREPLY[@]}"' - "$1"
}
equal "bash: classes, as they must be typed" "Person|Dog|My\\ Class|It\\'s|Cost\\\$HOME|Über|A:B|Two%0ALines|Say\\ \\\"hi\\\"\\!|" \
  "$(bash_offers 'realmfs cat n.realm ')"
equal "bash: properties" "age=|name=|" "$(bash_offers 'realmfs insert n.realm Dog ')"
equal "bash: only those that begin so" "name|naïve|" "$(bash_offers 'realmfs query n.realm Person --columns na')"
equal "bash: commands" "backup|" "$(bash_offers 'realmfs bac')"
equal "bash: options" "--columns|" "$(bash_offers 'realmfs cat --col')"
if command -v fish >/dev/null; then
  equal "fish: classes" "Dog Person" \
    "$(fish --private -c 'source scripts/realmfs.fish; complete -C "realmfs query my\\ people.realm "' | xargs)"
fi

# Completing leaves no trace, does not wait and prints no errors.
offers() { timeout 10 "$realmfs" __complete words "$@" 2>&1 | tr '\0' '|'; }
state() { stat -c '%n %s %Y %Z' ./* && sha256sum ./*.realm; }
mkfifo pipe && head -c 5000 /dev/urandom >noise.realm && cp "$fixtures"/damaged/*.realm . && mkdir folder
before=$(state)
equal "the objects of a class" "names|Person/Ada Lovelace|Person/O'Hara%2Fx|" "$(offers cat n.realm Person/)"
equal "what is set is not offered again" "names|name=|" "$(offers insert n.realm Dog age=1 '')"
equal "a file that is a pipe" "names|" "$(offers cat pipe '')"
equal "a key file that is a pipe" "names|" "$(offers cat --key-file pipe secret.realm '')"
equal "a key from standard input" "names|" "$(offers cat --key-file - secret.realm '' 3<>pipe <pipe)"
equal "a key from a command, which is not run" "names|" "$(offers cat --key-command 'touch ran; cat key.hex' secret.realm '')"
equal "a wrong key" "names|" "$(offers cat --key-file schema.json secret.realm '')"
equal "a key from the environment" "names|Dog|Person|" "$(KEY=$(cat key.hex) offers cat --key-env KEY secret.realm '')"
equal "no such file, a folder, noise" "names|names|names|" "$(offers cat none '')$(offers cat folder '')$(offers cat noise.realm '')"
for file in export-loops-1 $(cd "$fixtures/damaged" && basename -s .realm ./*.realm); do
  answer=$(offers cat "$file.realm" Person/)
  [[ $answer == names\|* && $answer != *realmfs:* ]] || not_ok "damaged file $file: $answer"
done
offers nonsense >/dev/null && offers >/dev/null && offers cat >/dev/null
equal "nothing was written" "$before" "$(state)"
