#!/usr/bin/env bash
# Encryption keys: every source, every form, and the messages for missing, wrong and malformed keys. The key itself is
# never shown.
source "$(dirname "$0")/lib.sh"

file=$fixtures/people-encrypted.realm
hex=$(tr -d '[:space:]' <"$key_file")
python3 - "$hex" "$scratch" <<'PYTHON'
import base64, sys
key, folder = bytes.fromhex(sys.argv[1]), sys.argv[2]
def write(name, data):
    with open(f"{folder}/{name}", "wb") as file:
        file.write(data)
write("raw", key)
write("raw-newline", key + b"\n")
write("hex", key.hex().encode())
write("hex-upper", key.hex().upper().encode() + b"\n")
write("hex-lines", "\n".join(key.hex()[i:i + 32] for i in range(0, 128, 32)).encode() + b"\n")
write("base64", base64.b64encode(key) + b"\n")
write("base64-url", base64.urlsafe_b64encode(key).rstrip(b"=") + b"\n")
write("prefixed", b"0x" + key.hex().encode() + b"\n")
write("numbers", str(list(key)).encode())
write("signed", str([byte - 256 if byte > 127 else byte for byte in key]).encode())
write("bom", b"\xef\xbb\xbf" + key.hex().encode() + b"\r\n")
write("bom-base64", b"\xef\xbb\xbf" + base64.b64encode(key))
write("powershell", ("0x" + key.hex() + "\r\n").encode("utf-16"))
write("powershell-numbers", str(list(key)).encode("utf-16"))
write("wrong", bytes(reversed(key)))
write("wrong-first", bytes([key[0] ^ 1]) + key[1:])
write("wrong-second", key[:63] + bytes([key[63] ^ 1]))
write("short", key[:32])
write("half", key.hex()[:64 * 2 - 2].encode())
write("empty", b"")
write("long", key * 1000)
PYTHON

classes() { "$realmfs" info "$@" "$file" 2>&1 | grep -A9 '^classes'; }
expected=$("$realmfs" info "$fixtures/people.realm" | grep -A9 '^classes')
for form in raw raw-newline hex hex-upper hex-lines base64 base64-url prefixed numbers signed bom bom-base64 powershell \
  powershell-numbers; do
  equal "--key-file, $form" "$expected" "$(classes --key-file "$scratch/$form")"
done
equal "--key-file -" "$expected" "$(classes --key-file - <"$scratch/hex")"
equal "--key-file -, from a pipe" "$expected" "$(cat "$scratch/raw" | classes --key-file -)"
check_status "standard input is the key or the data, not both" 2 'standard input cannot be both the data and the key' \
  bash -c '"$0" import --class Person --key-file - "$1" - <"$2"' "$realmfs" "$file" "$scratch/hex"
check_status "nor the object" 2 'in a file' bash -c '"$0" insert --key-file - "$1" Person <"$2"' "$realmfs" "$file" "$scratch/hex"
check_status "nor another key" 2 'in a file' \
  bash -c '"$0" rekey --key-file - --new-key-file - "$1" <"$2"' "$realmfs" "$file" "$scratch/hex"
check_status "no key on standard input" 5 'standard input: nothing found' "$realmfs" info --key-file - "$file"
equal "--key-fd" "$expected" "$(classes --key-fd 7 7<"$scratch/raw")"
equal "--key-command" "$expected" "$(classes --key-command "cat '$scratch/hex'")"
equal "--key-env" "$expected" "$(SECRET=$hex classes --key-env SECRET)"
check_status "-v tells the form" 0 '128 hexadecimal digits' "$realmfs" info -v --key-file "$scratch/hex" "$file"

point=$(new_directory mnt)
mounted() { "$realmfs" mount "$@" "$file" "$point" && [ "$(ls "$point/Person" | wc -l)" -eq 19 ] && "$realmfs" umount "$point"; }
check "mount with --key-file" mounted --key-file "$scratch/raw"
check "mount with --key-command" mounted --key-command "cat '$scratch/base64'"
check "mount with --key-fd" mounted --key-fd 9 9<"$scratch/hex"
export SECRET=$hex
check "mount with --key-file -" mounted --key-file - <"$scratch/hex"
check "mount with --key-fd 0" mounted --key-fd 0 <"$scratch/hex"
check "mount with --key-env" mounted --key-env SECRET
serve "$file" "$point" --key-env SECRET
# `grep -c` prints 0 and fails if there is no match.
equal "the key is wiped from the environment of the mount" "0" "$(tr '\0' '\n' <"/proc/$server/environ" | grep -c "$hex")"
equal "the key is not in the command line" "0" "$(tr '\0' '\n' <"/proc/$server/cmdline" | grep -c "$hex")"
stop_server "$point"
unset SECRET

half=${hex:0:64}
check_status "64 hexadecimal digits are half a key" 5 '64 hexadecimal digits are 32 bytes; a Realm key has 64' \
  "$realmfs" info --key-command "printf $half" "$file"
check_status "also with a line feed" 5 '64 hexadecimal digits are 32 bytes' "$realmfs" info --key-command "echo $half" "$file"
check_status "a key of equal bytes is no secret" 0 'all 64 bytes of the key are the same, so anyone can guess it' \
  "$realmfs" create --key-command "head -c 64 /dev/zero" --schema <("$realmfs" schema "$fixtures/people.realm") "$scratch/zero.realm"
check_status "a key command that fails" 5 'the command ended with exit status 1' \
  "$realmfs" info --key-command "echo once >>'$scratch/runs'; false" "$file"
equal "runs once" 1 "$(wc -l <"$scratch/runs")"

check_status "no key" 5 'key' "$realmfs" info "$file"
check_status "no key: mount" 5 'key' "$realmfs" mount "$file" "$point"
for key in wrong wrong-first wrong-second; do
  check_status "a wrong key ($key)" 6 'wrong' "$realmfs" info --key-file "$scratch/$key" "$file"
done
check_status "a wrong key: mount" 6 'wrong' "$realmfs" mount --key-file "$scratch/wrong" "$file" "$point"
check_status "a key for a plain file" 6 'not encrypted' "$realmfs" info --key-file "$key_file" "$fixtures/people.realm"
check_status "a key file that does not exist" 5 'No such file' "$realmfs" info --key-file "$scratch/absent" "$file"
check_status "a short key" 5 '32 bytes found' "$realmfs" info --key-file "$scratch/short" "$file"
check_status "too few digits" 5 '126 hexadecimal digits found' "$realmfs" info --key-file "$scratch/half" "$file"
check_status "an empty key file" 5 'nothing found' "$realmfs" info --key-file "$scratch/empty" "$file"
check_status "far too much" 5 'more than' "$realmfs" info --key-file "$scratch/long" "$file"
check_status "a key command that fails" 5 'exit status 3' "$realmfs" info --key-command 'exit 3' "$file"
check_status "a key command that prints nothing" 5 'nothing found' "$realmfs" info --key-command true "$file"
check_status "a variable that is not set" 5 'not set' "$realmfs" info --key-env REALMFS_ABSENT "$file"
check_status "a descriptor that is not open" 5 'descriptor 42' "$realmfs" info --key-fd 42 "$file"
check_status "a descriptor that is no number" 2 'key-fd' "$realmfs" info --key-fd x "$file"
check_status "two sources" 2 'exclude each other' "$realmfs" info --key-fd 7 --key-env A "$file"

shown=$(for form in short half long wrong wrong-first; do "$realmfs" info -v --key-file "$scratch/$form" "$file" 2>&1; done)
if grep -qF -e "${hex:0:16}" -e "${hex:100:16}" <<<"$shown"; then not_ok "messages show the key"; else ok "no message shows the key"; fi
