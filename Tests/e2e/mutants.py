#!/usr/bin/env python3
"""Runs every command, and mounts that write and migrate, on damaged files: each ends in time, within its memory limit, on
SIGTERM at once, and never by a trap. Its output does not matter.

    mutants.py [OPTION]... PROGRAM FILE...      the files unchanged
    mutants.py --mutants TOOL --count N ...     N damaged copies of them, made by .build/debug/MutantFiles

Prints a line for each fault and a summary; exit status 1 if there are faults. The files with faults stay in --keep.
"""
import argparse
import json
import multiprocessing
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

NEW_KEY = bytes(range(64))
SYSTEM_ENDS = {signal.SIGTERM}


class Faults:
    """A fault with one file."""

    def __init__(self, name, keep, file):
        self.name, self.keep, self.file, self.found = name, keep, file, []

    def add(self, command, text):
        self.found.append(f"{self.name}: {command}: {text}")
        if self.keep:
            os.makedirs(self.keep, exist_ok=True)
            shutil.copy(self.file, os.path.join(self.keep, self.name.replace("/", "-") + ".realm"))


class Runner:
    """Runs programs on one file, one after the other."""

    def __init__(self, options, faults, folder):
        self.options, self.faults, self.folder, self.runs, self.used = options, faults, folder, 0, set()
        self.slowest = (0.0, "")
        self.largest = (0, "")

    def start(self, command, environment=None, input=os.devnull):
        self.runs += 1
        self.used.add(command[1])
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "wb") as log, open(input, "rb") as source:
            return subprocess.Popen(
                command, stdin=source, stdout=subprocess.DEVNULL, stderr=log, cwd=self.folder,
                env=environment, start_new_session=True)

    def wait(self, process, seconds):
        """The status of a program, or None if it has not ended by then."""
        handle = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            if not poll.poll(seconds * 1000):
                return None
        finally:
            os.close(handle)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.usage = usage
        return process.returncode

    def stop(self, process, what):
        """Ends a program by SIGTERM, or reports that it ignores the signal."""
        os.kill(process.pid, signal.SIGTERM)
        status = self.wait(process, self.options.patience)
        if status is None:
            self.faults.add(what, "ignores SIGTERM" + self.stack(process))
            os.killpg(process.pid, signal.SIGKILL)
            self.wait(process, 60)
        return status

    def is_held_up(self, process):
        """True if a program is not asleep and has had less than half of its time on a processor."""
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as text:
            fields = text.read().rsplit(")", 1)[1].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return fields[0] == "D" or fields[0] == "R" and used < self.options.limit / 2

    @staticmethod
    def stack(process):
        """Where the threads of a program wait, if the system reports it."""
        places = []
        for thread in sorted(os.listdir(f"/proc/{process.pid}/task")):
            try:
                with open(f"/proc/{process.pid}/task/{thread}/wchan", encoding="ascii") as text:
                    places.append(text.read())
            except OSError:
                places.append("?")
        return f" (threads in {' '.join(places)})"

    def judge(self, what, status, endings=()):
        """Reports a faulty end of a program."""
        with open(self.log, "rb") as log:
            text = log.read(4000)
        last = text.decode(errors="replace").strip()[-300:]
        if status < 0 and -status not in endings:
            self.faults.add(what, f"ended by {signal.Signals(-status).name}: {last}")
        elif b"Fatal error" in text or b"AddressSanitizer" in text:
            self.faults.add(what, last)
        seconds, memory = self.usage.ru_utime + self.usage.ru_stime, self.usage.ru_maxrss // 1024
        self.slowest, self.largest = max(self.slowest, (seconds, what)), max(self.largest, (memory, what))
        if self.options.cpu and seconds > self.options.cpu:
            self.faults.add(what, f"took {seconds:.1f} s of processor time")
        if self.options.memory and memory > self.options.memory:
            self.faults.add(what, f"took {memory} MB")

    def run(self, what, command, input=os.devnull):
        """Runs a program to its end. Waiting for a busy disk or processor is not a hang."""
        process = self.start(command, input=input)
        status, rounds = self.wait(process, self.options.limit), 0
        while status is None and self.is_held_up(process) and rounds < 60:
            status, rounds = self.wait(process, 1), rounds + 1
        if status is None:
            self.faults.add(what, f"has not ended after {self.options.limit} s" + self.stack(process))
            status = self.stop(process, what)
        if status is not None:
            self.judge(what, status, SYSTEM_ENDS)

    def serve(self, what, command, point, visit):
        """Runs a mount, lets `visit` use it, and ends it by SIGTERM."""
        process = self.start(command)
        end = time.monotonic() + self.options.limit
        while time.monotonic() < end:
            status = self.wait(process, 0.005)
            if status is not None:
                return self.judge(what, status)
            if os.path.ismount(point):
                break
        else:
            self.faults.add(what, f"is neither mounted nor ended after {self.options.limit} s")
        if os.path.ismount(point):
            child = os.fork()
            if child == 0:
                try:
                    visit(point)
                finally:
                    os._exit(0)
            handle, poll = os.pidfd_open(child), select.poll()
            poll.register(handle, select.POLLIN)
            if not poll.poll(self.options.limit * 1000):
                self.faults.add(what, f"a program that uses the mount is not done after {self.options.limit} s")
                os.kill(child, signal.SIGKILL)
            os.close(handle)
        else:
            child = None
        status = self.stop(process, what)
        if child is not None:
            os.waitpid(child, 0)
        if os.path.ismount(point):
            if status is not None:
                self.faults.add(what, "left a mount behind")
            subprocess.run(["umount", "-l", point], check=False)
        if status is not None:
            self.judge(what, status)


def attempt(body, *words):
    """Ignores refusals by a damaged file."""
    try:
        return body(*words)
    except (OSError, ValueError):
        return None


def text_of(path):
    with open(path, "rb") as file:
        return file.read(1 << 22)


def save(path, data):
    """Writes a text as shells do."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)


def visitor(edits):
    """A program that reads the files of a mount, and changes them in every way."""

    def visit(point):
        snapshot = os.path.join(point, ".realm/snapshots/s")
        attempt(os.mkdir, snapshot)
        for name in (".realm/info.json", ".realm/schema.json", ".realm/version"):
            attempt(text_of, os.path.join(point, name))
        attempt(os.statvfs, point)
        for name in attempt(os.listdir, point) or []:
            folder = os.path.join(point, name)
            objects = [entry for entry in attempt(os.listdir, folder) or [] if entry.endswith(".json")]
            if name.startswith("."):
                continue
            for entry in objects[:50]:
                attempt(text_of, os.path.join(folder, entry))
            for entry in (".all.csv", ".count", ".where/TRUEPREDICATE LIMIT(9)/.all.jsonl"):
                attempt(text_of, os.path.join(folder, entry))
            for entry in attempt(os.listdir, os.path.join(folder, ".by")) or []:
                attempt(os.listdir, os.path.join(folder, ".by", entry))
            fields = [os.path.join(folder, ".fields", entry.removesuffix(".json")) for entry in objects[:2]]
            for path in fields:
                for entry in attempt(os.listdir, path) or []:
                    text = attempt(text_of, os.path.join(path, entry))
                    if text:
                        attempt(save, os.path.join(path, entry), text)
                for source in attempt(os.listdir, os.path.join(path, ".backlinks")) or []:
                    attempt(os.listdir, os.path.join(path, ".backlinks", source))
            lines = attempt(text_of, os.path.join(folder, ".all.jsonl"))
            if lines:
                attempt(save, os.path.join(folder, ".all.jsonl"), lines)
            paths = [os.path.join(folder, entry) for entry in objects]
            for path in paths[:3]:
                for edit in edits.get(name, []):
                    attempt(save, path, json.dumps(edit).encode())
                attempt(save, path, attempt(text_of, path) or b"{}")
            if len(paths) > 1:
                attempt(os.rename, paths[0], paths[1])
                attempt(os.unlink, paths[-1])
            attempt(save, os.path.join(folder, "77.json"), b"{}")
            attempt(save, os.path.join(folder, "new.json"), b"{}")
        schema = os.path.join(point, ".realm/schema.json")
        grown = attempt(grow, attempt(text_of, schema) or b"")
        if grown:
            attempt(save, schema, grown)
        attempt(text_of, os.path.join(snapshot, ".changes"))
        attempt(save, os.path.join(snapshot, ".restore"), b"1")
        attempt(os.rmdir, snapshot)
        attempt(text_of, os.path.join(point, ".realm/errors"))
        attempt(save, os.path.join(point, ".realm/compact"), b"1")

    return visit


def grow(text):
    """A schema with one more property in each class and the next version."""
    schema = json.loads(text)
    schema["schemaVersion"] = (schema.get("schemaVersion") or 0) + 1
    for facts in schema["schema"]:
        facts["properties"]["added by a test"] = {"type": "string", "optional": True}
    return json.dumps(schema).encode()


def value(facts):
    """Some value for a property."""
    kind = facts["type"]
    return {"list": [], "set": [], "dictionary": {}, "int": 7, "bool": True, "float": 1.5, "double": 2.5, "string": "x",
            "date": "2020-01-01T00:00:00Z", "data": "AAAA", "decimal128": "1.5", "objectId": "0" * 24,
            "uuid": "00000000-0000-0000-0000-000000000000", "mixed": [1, {"a": [2]}]}.get(kind)


class Plan:
    """The operations on copies of a file. Classes and objects are those of the file before it was damaged."""

    def __init__(self, program, file, folder, key):
        self.file = file
        self.key = ["--key-file", key] if key else []
        self.jsonl, self.grown = os.path.join(folder, "jsonl"), os.path.join(folder, "grown.json")
        tree = os.path.join(folder, "tree")
        bounds = {"timeout": 60, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "check": False}
        text = subprocess.run([program, "schema", *self.key, file], **bounds).stdout
        schema = attempt(json.loads, text) or {"schema": []}
        self.classes = [facts for facts in schema["schema"] if not facts.get("embedded")]
        self.edits = {}
        for facts in schema["schema"]:
            named = {name: value(property) for name, property in facts["properties"].items()
                     if name != facts.get("primaryKey")}
            self.edits[facts["name"]] = [{name: value} for name, value in named.items()][:12] + [named]
        with open(self.grown, "wb") as out:
            out.write(attempt(grow, text) or b'{"schemaVersion": 99, "schema": []}')
        subprocess.run([program, "export", *self.key, file, self.jsonl], **bounds)
        subprocess.run([program, "export", *self.key, "--format", "json", file, tree], **bounds)
        # The object that is changed by name, and records that change every object.
        self.object = {name: sorted(attempt(os.listdir, os.path.join(tree, name)) or ["1.json"])[0].removesuffix(".json")
                       for name in self.names()}
        os.makedirs(self.jsonl, exist_ok=True)
        for name in self.names():
            path = os.path.join(self.jsonl, name + ".jsonl")
            records = [attempt(json.loads, line) or {} for line in (attempt(text_of, path) or b"{}").splitlines()]
            changes = (self.edits.get(name) or [{}])[-1]
            attempt(save, path, b"".join(json.dumps(record | changes).encode() + b"\n" for record in records))

    def names(self):
        """Up to two classes, each with a query that finds everything."""
        return [facts["name"] for facts in self.classes][:2] or ["A"]

    def commands(self, copy, folder):
        """The commands, each with its name here; `copy` is a fresh file for a command that changes it."""
        out = os.path.join(folder, "out")
        for words in (["info", "--long"], ["info", "--json"], ["schema"], ["schema", "--format", "swift"],
                      ["schema", "--format", "svg"], ["cat"], ["check"], ["diff", "--previous"],
                      ["versions"], ["versions", "--changes"], ["deleted"], ["deleted", "--former"]):
            yield words, [words[0], *self.key, *words[1:], self.present]
        for format in ("jsonl", "json", "csv", "sqlite"):
            yield ["export", format], ["export", *self.key, "--format", format, self.present, out + format]
        yield ["browse", "--static"], ["browse", *self.key, "--static", out + "html", self.present]
        yield ["verify-replica"], ["verify-replica", *self.key, self.present, out + "sqlite"]
        # Without a server, only the newest version and the schema of the realm are read.
        yield ["replicate"], ["replicate", *self.key, "--once", self.present, "host=/nowhere dbname=none"]
        yield ["diff", "to"], ["diff", *self.key, "--json", self.file, self.present]
        yield ["diff", "from"], ["diff", *self.key, "--json", self.present, self.file]
        for name, files in (("base", (self.present, self.file, self.file)), ("ours", (self.file, self.present, self.file)),
                            ("theirs", (self.file, self.file, self.present)), ("union", (self.file, self.present))):
            yield ["merge", name], ["merge", *self.key, *files, "-o", out + "merged" + name]
        for words in (["backup"], ["recover"], ["convert", "--local"]):
            yield words, [words[0], *self.key, *words[1:], self.present, out + words[0] + ".realm"]
        for name in self.names():
            facts = next((facts for facts in self.classes if facts["name"] == name), {"properties": {}})
            first = next(iter(facts["properties"]), "x")
            yield ["cat", "class"], ["cat", *self.key, "--format", "table", self.present, name]
            yield ["query"], ["query", *self.key, self.present, name, "TRUEPREDICATE SORT(" + first + " DESC)"]
            yield ["query", "--group-by"], ["query", *self.key, "--count", "--group-by", first, self.present, name]
            yield ["query", "links"], ["query", *self.key, "--count", self.present, name, "@links.@count > 0"]
            place, key = name + "/" + self.object[name], facts.get("primaryKey")
            made = [f"{key}={value(facts['properties'][key])}"] if key else []
            whole = [f"{name}={json.dumps(value)}" for name, value in (self.edits.get(name) or [{}])[-1].items()]
            yield ["set"], ["set", *self.key, copy(), place, *whole[:1]]
            yield ["set", "all"], ["set", *self.key, copy(), place, *whole]
            yield ["insert"], ["insert", *self.key, copy(), name, *made, *whole[:3]]
            yield ["delete"], ["delete", *self.key, "--yes", copy(), name, "TRUEPREDICATE"]
            yield ["delete", "one"], ["delete", *self.key, "--yes", copy(), place]
            yield ["property", "add"], ["property", *self.key, "add", copy(), name, "added", "int"]
            for property in [other for other in facts["properties"] if other != key][:1]:
                yield ["property", "rm"], ["property", *self.key, "rm", "--force", copy(), name, property]
                yield ["property", "rename"], ["property", *self.key, "rename", copy(), name, property, "other"]
                yield ["property", "index"], ["property", *self.key, "index", copy(), name, property]
            yield ["class", "rename"], ["class", *self.key, "rename", copy(), name, "Other"]
            yield ["class", "rm"], ["class", *self.key, "rm", "--force", copy(), name]
        yield ["exec"], ["exec", *self.key, copy(), "--", "ls", "-R"]
        yield ["exec", "--tx"], ["exec", *self.key, "--tx", copy(), "--", "ls", "-R"]
        yield ["import"], ["import", *self.key, "--format", "jsonl", copy(), self.jsonl]
        yield ["import", "--batch"], ["import", *self.key, "--format", "jsonl", "--batch", "5", copy(), self.jsonl]
        yield ["compact"], ["compact", *self.key, copy()]
        yield ["compact", "--no-verify"], ["compact", *self.key, "--no-verify", copy()]
        yield ["upgrade"], ["upgrade", *self.key, copy()]
        yield ["seal"], ["seal", copy()]
        yield ["class", "add"], ["class", *self.key, "add", copy(), "Added", "name=string"]
        yield ["undo", "--list"], ["undo", *self.key, "--list", self.present]
        yield ["undo"], ["undo", *self.key, copy()]
        yield ["undo", "--redo"], ["undo", *self.key, "--redo", copy()]
        # A plain file is not decrypted, nor an encrypted one encrypted again; the refusal must end, too.
        some_key = self.key or ["--key-file", self.new_key]
        yield ["encrypt"], ["encrypt", *some_key, copy()]
        yield ["decrypt"], ["decrypt", *some_key, copy()]
        yield ["rekey"], ["rekey", *some_key, "--new-key-file", self.new_key, copy()]

    def session(self, path):
        """Writes a session of `realmfs mcp` that calls every tool."""
        calls = [("schema", {}), ("versions", {}), ("diff", {}), ("search", {"text": "e"})]
        for name in self.names():
            place = name + "/" + self.object[name]
            calls += [("query", {"class": name}), ("query", {"class": name, "query": "TRUEPREDICATE SORT(@links.@count DESC)"}),
                      ("count", {"class": name, "query": "@links.@count > 0"}), ("get", {"object": place}),
                      ("set", {"object": place, "values": (self.edits.get(name) or [{}])[-1]}),
                      ("insert", {"class": name, "objects": [{}]}), ("delete", {"class": name, "query": "TRUEPREDICATE"}),
                      ("undo", {}), ("undo", {"redo": True})]
        with open(path, "w", encoding="utf-8") as out:
            for number, (tool, arguments) in enumerate(calls):
                parameters = {"name": tool, "arguments": arguments}
                message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters}
                out.write(json.dumps(message) + "\n")
        return path

    def run(self, options, file, folder, faults):
        """Runs all operations on one file."""
        runner = Runner(options, faults, folder)
        self.present, self.new_key = file, os.path.join(folder, "new.key")
        with open(self.new_key, "wb") as out:
            out.write(NEW_KEY)
        work, point = os.path.join(folder, "work.realm"), os.path.join(folder, "mnt")
        os.makedirs(point, exist_ok=True)

        def copy():
            for name in (work, work + ".lock"):
                if os.path.exists(name):
                    os.unlink(name)
            shutil.copyfile(file, work)
            return work

        for what, words in self.commands(copy, folder):
            runner.run(" ".join(what), [options.program, *words])
        session = self.session(os.path.join(folder, "session"))
        runner.run("mcp", [options.program, "mcp", *self.key, "--write", copy()], input=session)
        watch = runner.start([options.program, "watch", *self.key, copy()])
        if runner.wait(watch, 0.05) is None:
            if runner.stop(watch, "watch") is not None:
                runner.judge("watch", watch.returncode, SYSTEM_ENDS)
        else:
            runner.judge("watch", watch.returncode)
        visit = visitor(self.edits)
        runner.serve("mount", [options.program, "mount", "-f", *self.key, copy(), point], point, visit)
        grouped = [options.program, "mount", "-f", "-o", "group_commit=5,write=replace", *self.key, copy(), point]
        runner.serve("mount -o group_commit", grouped, point, visit)
        shutil.copymode(self.file, work)
        migration = 'cat "$REALMFS_OLD"/*/*.json; for f in "$REALMFS_NEW"/*/*.json; do echo "{}" >"$f"; done; true'
        migrating = ["mount", "-f", *self.key, "--schema", self.grown, "--migrate", migration, copy(), point]
        runner.serve("mount --migrate", [options.program, *migrating], point, lambda point: attempt(os.listdir, point))
        return runner


def work(options, jobs, results):
    """Runs jobs until there are no more."""
    # Limits that protect the machine from a program out of control.
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    plans, folder, number = {}, tempfile.mkdtemp(prefix="realmfs-mutants.", dir=memory_folder()), 0
    while (job := jobs.get()) is not None:
        file, seed = job
        number += 1
        try:
            key = options.key if "encrypted" in os.path.basename(file) else None
            if file not in plans:
                home = os.path.join(folder, f"plan{len(plans)}")
                os.makedirs(home)
                plans[file] = Plan(options.program, os.path.abspath(file), home, key)
            place = os.path.join(folder, str(number))
            os.makedirs(place)
            name, target = os.path.basename(file).removesuffix(".realm"), os.path.join(place, "a.realm")
            if seed is None:
                shutil.copyfile(file, target)
            else:
                subprocess.run([options.mutants, file, str(seed), "1", place], check=True)
                os.rename(os.path.join(place, f"{seed}.realm"), target)
                name += f"/{seed}"
            faults = Faults(name, options.keep, target)
            runner = plans[file].run(options, target, place, faults)
            results.put((faults.found, runner.runs, runner.slowest, runner.largest, name, runner.used))
            shutil.rmtree(place)
        except BaseException:  # reported to the parent, which waits for a result
            results.put(([f"{file} {seed}: {traceback.format_exc()}"], 0, (0, ""), (0, ""), file, set()))
    shutil.rmtree(folder, ignore_errors=True)


def memory_folder():
    """The file system in memory, or None for the default. On ext4, the processor time for creating a file grows with the
    number of files that were deleted in the last seconds, and an export creates thousands."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None


def commands_of(program):
    """The commands of the program that read a realm file."""
    text = subprocess.run([program, "help"], stdout=subprocess.PIPE, check=False, timeout=60).stdout.decode()
    usage = [line.split()[1] for line in text.splitlines() if line.startswith("  realmfs ") and "[OPTION]" in line]
    return set(usage) - {"umount", "create", "version", "help", "status", "tx", "pull"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", help="the program that makes damaged copies")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1, help="the copies, of all files together")
    parser.add_argument("--seconds", type=float, help="begin no other copy after so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=5, help="seconds until a program hangs")
    parser.add_argument("--patience", type=float, default=5, help="seconds until SIGTERM counts as ignored")
    parser.add_argument("--cpu", type=float, help="seconds of processor time that a program may take")
    parser.add_argument("--memory", type=int, help="MB that a program may take")
    parser.add_argument("--key", help="the key file of files whose name has `encrypted`")
    parser.add_argument("--keep", help="where faulty files are kept")
    parser.add_argument("program")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    if options.mutants:
        todo = [(options.files[i % len(options.files)], options.seed + i) for i in range(options.count)]
    else:
        todo = [(file, None) for file in options.files]

    start, found, runs, done = time.monotonic(), 0, 0, 0
    slowest, largest = (0.0, "", ""), (0, "", "")
    jobs, results = multiprocessing.Queue(), multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(options, jobs, results)) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    pending, unused = iter(todo), commands_of(options.program)

    def give():
        late = options.seconds and time.monotonic() - start > options.seconds
        job = None if late else next(pending, None)
        if job is not None:
            jobs.put(job)
        return job is not None

    waiting = sum(give() for _ in range(2 * options.jobs))
    while waiting:
        faults, count, slow, large, name, used = results.get()
        unused -= used
        waiting += give() - 1
        done, runs, found = done + 1, runs + count, found + len(faults)
        slowest, largest = max(slowest, (*slow, name)), max(largest, (*large, name))
        for fault in faults:
            print(fault, flush=True)
    if unused and done:
        found += 1
        print(f"nothing runs {', '.join(sorted(unused))}")
    for worker in workers:
        jobs.put(None)
    for worker in workers:
        worker.join()
    print(f"{done} files, {runs} runs of a program, {found} faults in {time.monotonic() - start:.0f} s; at most "
          f"{slowest[0]:.1f} s of processor time ({slowest[1]} of {slowest[2]}), {largest[0]} MB ({largest[1]} of {largest[2]})")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
