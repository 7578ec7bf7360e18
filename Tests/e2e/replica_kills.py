#!/usr/bin/env python3
"""Interrupts a replica at random moments, in three ways, while writers commit: kills the replicating process with SIGKILL,
stops the server as in a crash, and cuts connections through a proxy. At the end the replica equals the realm, and a
trigger has seen each value once.

usage: replica_kills.py KILLS ADDRESS_WITHOUT_PORT PORT RESTART_COMMAND REPLICATE... -- WRITER... [-- WRITER...]...

ADDRESS and the port of the proxy are the last argument of REPLICATE. Each writer is a command that ends. Prints the number
of kills of each kind, and with REPLICA_FILE the largest size of that file."""

import os
import random
import select
import socket
import subprocess
import sys
import threading
import time


class Proxy(threading.Thread):
    """Forwards connections to the server; cuts them on request, perhaps in the middle of a message."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = []

    def run(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self.pairs.append((client, server))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


def main():
    groups, current = [], []
    for word in sys.argv[5:] + ["--"]:
        if word == "--":
            groups.append(current)
            current = []
        else:
            current.append(word)
    kills, address, port, restart = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    replicate, writers = groups[0], groups[1:]
    proxy = Proxy(port)
    proxy.start()
    command = replicate + [f"{address} port={proxy.port}"]
    log = open(os.environ.get("REPLICA_LOG", os.devnull), "ab")
    generator = random.Random(int(os.environ.get("SEED", "1")))
    done = {"process": 0, "server": 0, "connection": 0}
    problems, restarts = [], 0
    running = [subprocess.Popen(writer, stdout=subprocess.DEVNULL) for writer in writers]
    replica = subprocess.Popen(command, stdout=log, stderr=log)
    largest, file = 0, os.environ.get("REPLICA_FILE")
    for _ in range(kills):
        # replicate ends if the server is missing when it starts, and a service manager starts it again.
        if replica.poll() is not None:
            restarts += 1
            replica = subprocess.Popen(command, stdout=log, stderr=log)
        time.sleep(generator.random() * float(os.environ.get("KILL_PAUSE", "0.5")))
        if file:
            largest = max(largest, os.path.getsize(file))
        if all(writer.poll() is not None for writer in running):
            break
        kind = generator.choice(["process", "process", "connection", "connection", "server"])
        if kind == "process":
            replica.kill()
            replica.wait()
            replica = subprocess.Popen(command, stdout=log, stderr=log)
        elif kind == "connection":
            proxy.cut()
        elif subprocess.run(["bash", "-c", restart], stdout=log, stderr=log).returncode:
            problems.append("the server does not start again")
            break
        done[kind] += 1
    for writer in running:
        if writer.wait():
            problems.append(f"a writer ended with status {writer.returncode}")
    if replica.poll() is not None:
        restarts += 1
        replica = subprocess.Popen(command, stdout=log, stderr=log)
    # Long enough to reach the server.
    time.sleep(2)
    replica.terminate()
    try:
        if replica.wait(timeout=60):
            problems.append(f"replicate ended with status {replica.returncode} after SIGTERM")
    except subprocess.TimeoutExpired:
        replica.kill()
        problems.append("replicate does not end after SIGTERM")
    # The counts are printed in any case, so that a long run is not lost.
    print(" ".join(f"{count} {kind}" for kind, count in done.items()), f"{restarts} restarts")
    if file:
        print(f"largest {max(largest, os.path.getsize(file))} bytes")
    if problems:
        sys.exit("; ".join(problems))


main()
