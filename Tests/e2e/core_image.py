"""Secrets that a core dump of a process would contain: `core_image.py PID KEYHEX`.

Reads the memory that the kernel writes into a core dump, everything not marked `dd`, and prints the name of each secret
in it: the key, its halves, the words of its text, and the round keys of AES-256 for encryption and decryption, in both
byte orders.
"""
import base64
import os
import re
import sys


def substitution():
    box, p, q = [0] * 256, 1, 1
    while True:
        p ^= (p << 1 & 0xFF) ^ (0x1B if p & 0x80 else 0)
        for shift in (1, 2, 4):
            q ^= q << shift & 0xFF
        if q & 0x80:
            q ^= 0x09
        box[p] = 0x63
        for turn in range(5):
            box[p] ^= (q << turn | q >> (8 - turn)) & 0xFF
        if p == 1:
            box[0] = 0x63
            return box


def times(a, b):
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a, b = (a << 1 & 0xFF) ^ (0x1B if a & 0x80 else 0), b >> 1
    return product


def round_keys(key):
    """The 15 round keys of AES-256: FIPS 197, 5.2."""
    box, words, constant = substitution(), [list(key[i:i + 4]) for i in range(0, 32, 4)], 1
    for i in range(8, 60):
        word = list(words[-1])
        if i % 8 == 0:
            word = [box[byte] for byte in word[1:] + word[:1]]
            word[0] ^= constant
            constant = times(constant, 2)
        elif i % 8 == 4:
            word = [box[byte] for byte in word]
        words.append([a ^ b for a, b in zip(words[i - 8], word)])
    return [bytes(sum(words[i:i + 4], [])) for i in range(0, 60, 4)]


def inverse_mix(block):
    mixed = b""
    for i in range(0, 16, 4):
        column = block[i:i + 4]
        mixed += bytes(times(column[j], 14) ^ times(column[(j + 1) % 4], 11) ^ times(column[(j + 2) % 4], 13)
                       ^ times(column[(j + 3) % 4], 9) for j in range(4))
    return mixed


def swapped(block):
    return b"".join(block[i:i + 4][::-1] for i in range(0, len(block), 4))


def secrets(key):
    found = {"the key": key, "the AES key": key[:32], "the HMAC key": key[32:], "digits of the key": key.hex()[:64].encode(),
             "digits of its end": key.hex()[64:].encode(), "base64 of the key": base64.b64encode(key)[:40]}
    for number, block in enumerate(round_keys(key[:32])):
        found[f"round key {number}"] = block
        found[f"round key {number}, swapped"] = swapped(block)
        if 0 < number < 14:
            found[f"round key {number} for decryption"] = inverse_mix(block)
            found[f"round key {number} for decryption, swapped"] = swapped(inverse_mix(block))
    return found


def dumped(pid):
    """The memory of a core dump, by the default of /proc/PID/coredump_filter: private anonymous memory, modified private
    file mappings, and shared memory without a file."""
    ranges, current, flags, fields = [], None, "", {}

    def end():
        if current and " dd" not in flags and "rd" in flags:
            if fields.get("Anonymous", 0) > 0 or fields.get("Rss", 0) > 0 and current[2] == "0":
                ranges.append(current[:2])
    for line in open(f"/proc/{pid}/smaps"):
        head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+)\s*(.*)", line)
        if head:
            end()
            current, flags, fields = (int(head[1], 16), int(head[2], 16), head[4], head[5]), "", {}
            if head[5].startswith(("[vvar", "[vdso", "[vsyscall")):
                current = None
        elif line.startswith("VmFlags:"):
            flags = line[8:]
        else:
            words = line.split()
            if len(words) > 1 and words[1].isdigit():
                fields[words[0][:-1]] = int(words[1])
    end()
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for start, stop in ranges:
            memory.seek(start)
            pieces = []
            while start < stop:
                try:
                    piece = memory.read(min(stop - start, 1 << 24))
                except OSError:
                    break
                pieces.append(piece)
                start += len(piece)
            yield b"".join(pieces)


key = bytes.fromhex(open(sys.argv[2]).read().strip())
# FIPS 197, A.3.
example = round_keys(bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"))
assert example[14].hex() == "fe4890d1e6188d0b046df344706c631e"
image = list(dumped(int(sys.argv[1])))
size = sum(map(len, image))
assert size > 1 << 20, f"{size} bytes only"
wanted = secrets(key)
print("\n".join(name for name, secret in wanted.items() if any(secret in part for part in image)))
