#!/usr/bin/env python3
"""Compares `realmfs browse` with `datasette` on the same objects: time of the first page, a sorted and a filtered one,
and resident memory.

    python3 Benchmarks/make_realm.py 1000000 items.realm
    realmfs export --format sqlite items.realm items.sqlite
    REALMFS=.build/release/realmfs DATASETTE=venv/bin/datasette Benchmarks/browse.py items.realm items.sqlite 5

Each round starts both servers anew, so nothing is cached by them; the files are in the page cache. Pages have 100 rows, as
JSON. Prints medians; the last argument is the number of rounds. Without DATASETTE, the peer is a few lines of Python's
http.server over sqlite3.
"""

import http.client
import http.server
import json
import os
import re
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import time
import urllib.parse

REALMFS = os.environ.get("REALMFS", ".build/release/realmfs")
DATASETTE = os.environ.get("DATASETTE")

# The page, its request to realmfs, to datasette, and its SQL.
PAGES = [
    ("first page", "", "", ""),
    ("sorted by an integer", "sort=-quantity", "_sort_desc=quantity", "ORDER BY quantity DESC"),
    ("sorted by a string", "sort=name", "_sort=name", "ORDER BY name"),
    ("filtered, 99,709 objects", "query=quantity > 9000", "quantity__gt=9000", "WHERE quantity > 9000"),
    ("filtered, 100 objects", "query=name CONTAINS 'needle'", "name__contains=needle", "WHERE name LIKE '%needle%'"),
    ("filtered and sorted", "query=quantity > 9000&sort=-price", "quantity__gt=9000&_sort_desc=price",
     "WHERE quantity > 9000 ORDER BY price DESC"),
]


class Peer(http.server.BaseHTTPRequestHandler):
    """A page of rows and the number of all, as JSON."""

    def do_GET(self):
        clause = urllib.parse.unquote(self.path[1:])
        where = clause.split("ORDER")[0]
        rows = self.server.base.execute(f'SELECT * FROM Item {clause} LIMIT 100').fetchall()
        count = self.server.base.execute(f'SELECT count(*) FROM Item {where}').fetchone()[0]
        body = json.dumps({"rows": rows, "count": count}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def memory(process, name):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(re.search(rf"{name}:\s+(\d+)", file.read())[1]) / 1024


def encoded(parameters):
    pairs = [tuple(part.split("=", 1)) for part in parameters.split("&") if part]
    return urllib.parse.urlencode(pairs, quote_via=urllib.parse.quote)


def fetch(port, target, headers):
    """Returns the milliseconds until the answer is complete, and the answer."""
    start = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", target, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    took = 1000 * (time.perf_counter() - start)
    connection.close()
    if answer.status >= 400:
        sys.exit(f"{target}: {answer.status} {body[:200]}")
    return took, body, answer


def start(arguments, port=None):
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while port:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    return process


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def ours(path):
    process = start([REALMFS, "browse", path])
    url = urllib.parse.urlsplit(process.stdout.readline().strip())
    _, _, answer = fetch(url.port, f"{url.path}?{url.query}", {})
    headers = {"Cookie": answer.getheader("Set-Cookie").split(";")[0],
               "X-Realmfs-Key": answer.getheader("Location").split("key=")[1]}
    return process, url.port, headers, lambda page: f"/api/classes/Item/rows?limit=100&{encoded(page[1])}"


def datasette(path):
    port = free_port()
    process = start([DATASETTE, "serve", "-i", path, "-p", str(port), "--setting", "sql_time_limit_ms", "60000"], port)
    name = os.path.basename(path).rsplit(".", 1)[0]
    return process, port, {}, lambda page: f"/{name}/Item.json?_shape=objects&_size=100&{encoded(page[2])}"


def peer(path):
    port = free_port()
    process = start([sys.executable, os.path.abspath(__file__), "--peer", path, str(port)], port)
    return process, port, {}, lambda page: "/" + urllib.parse.quote(page[3])


def measure(make, path, results):
    process, port, headers, target = make(path)
    try:
        for page in PAGES:
            took, body, _ = fetch(port, target(page), headers)
            found = json.loads(body)
            if len(found["rows"]) != 100:
                sys.exit(f"{page[0]}: {len(found['rows'])} rows")
            results.setdefault(page[0], []).append(took)
            if page is PAGES[0]:
                results.setdefault("memory after the first page", []).append(memory(process, "VmRSS"))
        results.setdefault("memory after all", []).append(memory(process, "VmRSS"))
        results.setdefault("peak of memory", []).append(memory(process, "VmHWM"))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def main():
    if sys.argv[1] == "--peer":
        server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[3])), Peer)
        server.base = sqlite3.connect(f"file:{sys.argv[2]}?mode=ro&immutable=1", uri=True)
        server.serve_forever()
    realm, sqlite, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    other = datasette if DATASETTE else peer
    mine, theirs = {}, {}
    for _ in range(rounds):
        measure(ours, realm, mine)
        measure(other, sqlite, theirs)
    print(f"{'':30} {'ours':>10} {other.__name__:>10}  ratio")
    for name, values in mine.items():
        a, b = statistics.median(values), statistics.median(theirs[name])
        unit = "MB" if "memory" in name else "ms"
        print(f"{name:30} {a:7.1f} {unit} {b:7.1f} {unit}  {a / b:.2f}")


if __name__ == "__main__":
    main()
