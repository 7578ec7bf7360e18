#!/usr/bin/env python3
"""Encrypted folders of ext4 and others, by kernel calls: fscrypt.py encrypt|unlock FOLDER KEY, lock FOLDER, policy PATH.
KEY is a file with the raw key. The configuration of the machine does not change."""
import fcntl
import os
import struct
import sys

SET_POLICY, GET_POLICY_EX, ADD_KEY, REMOVE_KEY = 0x800C6613, 0xC0096616, 0xC0506617, 0xC0406618
BY_IDENTIFIER, FILES_BUSY = 2, 1


def call(path, request, data):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = bytearray(data)
        fcntl.ioctl(descriptor, request, data, True)
        return data
    finally:
        os.close(descriptor)


def add_key(folder, key_file):
    """Adds a key to the file system and returns its identifier."""
    with open(key_file, "rb") as file:
        key = file.read()
    done = call(folder, ADD_KEY, struct.pack("<II32xII32x", BY_IDENTIFIER, 0, len(key), 0) + key)
    return bytes(done[8:24])


def policy(path):
    """The key identifier of an encrypted file or folder."""
    return bytes(call(path, GET_POLICY_EX, struct.pack("<Q24x", 24))[16:32])


command, path = sys.argv[1:3]
if command == "encrypt":
    # Version 2, AES-256-XTS for contents, AES-256-CTS for names, padded to 32 bytes.
    call(path, SET_POLICY, struct.pack("<BBBB4x", 2, 1, 4, 3) + add_key(path, sys.argv[3]))
elif command == "unlock":
    add_key(path, sys.argv[3])
elif command == "lock":
    done = call(path, REMOVE_KEY, struct.pack("<II16s40x", BY_IDENTIFIER, 0, policy(path)))
    if struct.unpack_from("<I", done, 40)[0] & FILES_BUSY:
        sys.exit("files are in use")
elif command == "policy":
    print(policy(path).hex())
