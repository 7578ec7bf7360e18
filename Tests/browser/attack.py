"""Hostile requests to `realmfs browse`: refused, bounded in memory, and nothing is written. run.sh starts it."""

import hashlib
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile

REALMFS = os.environ["REALMFS"]
CONNECTIONS = 10_000
BODY = 100 << 20
# The resident memory of the server, in KB; a debug build needs 60 MB for its code alone.
MEMORY = 200 << 10

failed = []
passed = []


def equal(found, expected, what):
    (passed if found == expected else failed).append(what)
    print(f"ok - {what}" if found == expected else f"not ok - {what}: expected {expected!r}, found {found!r}", flush=True)


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([REALMFS, "browse", *arguments], stdout=subprocess.PIPE, text=True)
        found = re.match(r"http://127\.0\.0\.1:(\d+)/\?token=(\w+)", self.process.stdout.readline())
        self.port = int(found[1])
        self.host = f"127.0.0.1:{self.port}"
        self.secrets = {}
        head = self.head("GET", f"/?token={found[2]}")
        self.secrets = {"Cookie": re.search(r"Set-Cookie: ([^;]+)", head)[1],
                        "X-Realmfs-Key": re.search(r"Location: /\?key=(\w+)", head)[1]}

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 60)

    def request(self, method, target, headers):
        wanted = {"Host": self.host, "Connection": "close", **self.secrets, **headers}
        if method not in ("GET", "HEAD"):
            wanted = {"Origin": f"http://{self.host}", "Content-Type": "application/json", **wanted}
        lines = "".join(f"{name}: {value}\r\n" for name, value in wanted.items() if value is not None)
        return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode()

    def head(self, method, target, headers=None, body=b""):
        with self.connect() as connection:
            connection.sendall(self.request(method, target, headers or {}) + body)
            found = b""
            while b"\r\n\r\n" not in found and (part := connection.recv(65536)):
                found += part
            return found.decode()

    def status(self, *arguments, **more):
        words = self.head(*arguments, **more).split()
        return int(words[1]) if words else 0

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])


def attack(server):
    info, change = ("GET", "/api/info"), ("PATCH", "/api/classes/Person/objects/0")
    refused = [
        (403, info, {"Cookie": None}, "without the cookie"), (403, info, {"X-Realmfs-Key": None}, "without the key"),
        (421, info, {"Host": "evil.example"}, "for another host"), (421, info, {"Host": None}, "without a host"),
        (403, change, {"Origin": "http://evil.example"}, "from another origin"),
        (403, change, {"Origin": None}, "without an origin"), (405, ("PUT", "/api/info"), {}, "with another method"),
        (415, change, {"Content-Type": "text/plain"}, "with another type"),
        (404, ("GET", "/../../etc/passwd"), {}, "for a path with .."),
        (404, ("GET", "/%2e%2e%2fetc%2fpasswd"), {}, "for an encoded path with .."),
        (400, ("GET", "/index.html%00"), {}, "for a path with %00"),
    ]
    for status, (method, target), headers, what in refused:
        equal(server.status(method, target, headers), status, f"a request {what} is refused")

    equal(server.status(*change, {"Content-Length": str(BODY)}), 413, "a body of 100 MB is refused by its length")
    with server.connect() as connection:
        connection.sendall(server.request(*change, {"Transfer-Encoding": "chunked"}))
        sent = 0
        try:
            while sent < BODY:
                connection.sendall(b"100000\r\n" + b" " * (1 << 20) + b"\r\n")
                sent += 1 << 20
        except OSError:
            pass
        equal(sent < BODY, True, "a body of 100 MB without a length is not read to the end")

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    held = []
    most = min(limit - 100, 600)
    for _ in range(CONNECTIONS):
        # Each sends the beginning of a request and never the rest.
        connection = server.connect()
        connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        held.append(connection)
        if len(held) > most:
            held.pop(0).close()
    equal(server.status(*info), 200, f"the page is served while {CONNECTIONS} connections send slowly")
    for connection in held:
        connection.close()
    equal(server.status(*info), 200, "and after them")
    print(f"# peak of resident memory: {server.memory()} KB")
    equal(server.memory() < MEMORY, True, f"the server needs less than {MEMORY >> 10} MB")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main():
    scratch = tempfile.mkdtemp(prefix="realmfs-attack.")
    server = None
    try:
        path = shutil.copy("Tests/Fixtures/people.realm", scratch)
        before = digest(path)
        server = Server("--write", path)
        attack(server)
        equal(server.process.poll(), None, "the server still runs")
        server.process.terminate()
        equal(server.process.wait(60), 0, "and ends when asked to")
        equal(digest(path), before, "nothing was written")
    finally:
        if server and server.process.poll() is None:
            server.process.kill()
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{len(passed)} passed, {len(failed)} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
