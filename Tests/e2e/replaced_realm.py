"""The table of replaced_realm.sh: operations on the realm file of a mount, by the state of the mount.

Each pair is a mount that has acknowledged a save (age 41 of Person/4). After the operation, the test checks the content of
the mount, the result of the next save, the result of closing a handle written before, that the text of a refused save is
kept, and that the acknowledged save is in the file in which it was made, whatever its name. docs/SEMANTICS.md has the table.
"""
import concurrent.futures
import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time

realmfs, fixtures, scratch = (os.environ[name] for name in ("realmfs", "fixtures", "scratch"))
key = os.path.join(fixtures, "encrypted.key.hex")
key_options = ["--key-file", key]
failures = []
PATIENCE = 60


def say(line):
    # One write: print writes a line and its end separately, so lines of two threads would mix.
    os.write(1, f"{line}\n".encode())


def run(*words, status=0, stdin=None):
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, input=stdin)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{words[1:]}: status {done.returncode} instead of {status}: {done.stderr.strip()}")
    return done


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.02)


class Case:
    """A mount in a separate folder: a.realm, whose Person/4 has age 41; new.realm, where it has 900."""

    def __init__(self, operation, state):
        self.operation, self.state = operation, state
        self.name = f"{operation.name}, {state}"
        self.folder = os.path.join(scratch, self.name.replace(", ", "."))
        self.point = os.path.join(self.folder, "m")
        os.makedirs(self.point)
        self.file = os.path.join(self.folder, "a.realm")
        self.options = key_options if operation.is_encrypted else []
        self.base = operation.base or ("people-encrypted" if operation.is_encrypted else "people")
        for name, age in (("a", 1), ("new", 900)):
            path = self.path(name)
            shutil.copyfile(os.path.join(fixtures, self.base + ".realm"), path)
            os.chmod(path, 0o644)
            if not operation.is_read_only:
                run(realmfs, "import", "--class", "Person", *self.options, path, "-", stdin=f'{{"_id": 4, "age": {age}}}')
        self.log = open(os.path.join(self.folder, "log"), "w")
        group = ["-o", "group_commit=60000"] if state == "grouped" else []
        self.server = subprocess.Popen([realmfs, "mount", "-f", *group, *self.options, self.file, self.point],
                                       stdout=self.log, stderr=self.log)
        until(lambda: self.server.poll() is not None or os.path.exists(self.point + "/.realm/README"), "mount")
        self.handle = self.text = None
        if operation.is_read_only:
            return
        self.check_errno("a save", self.save(41), 0)
        self.text = self.read()
        if state == "reading":
            self.handle = os.open(self.object, os.O_RDONLY)
        if state == "writing":
            self.handle = os.open(self.object, os.O_WRONLY | os.O_TRUNC)
            os.write(self.handle, b'{"age": 42')

    def path(self, name):
        return os.path.join(self.folder, name + ".realm")

    object = property(lambda self: self.point + "/Person/4.json")

    def is_in_session(self):
        inode = os.stat(self.file + ".lock").st_ino
        return any(f":{inode} " in line for line in open("/proc/locks"))

    def save(self, age):
        try:
            handle = os.open(self.object, os.O_WRONLY | os.O_TRUNC)
            try:
                os.write(handle, f'{{"age": {age}}}'.encode())
            except OSError:
                # The close fails, too.
                try:
                    os.close(handle)
                except OSError:
                    pass
                raise
            os.close(handle)
        except OSError as error:
            return error.errno
        return 0

    def close_written(self):
        try:
            try:
                os.write(self.handle, b"}")
            finally:
                os.close(self.handle)
        except OSError as error:
            return error.errno
        return 0

    def read(self):
        with open(self.object) as file:
            return file.read()

    def age(self):
        try:
            return json.loads(self.read())["age"]
        except OSError as error:
            return -error.errno

    def expect(self, what, found, wanted):
        if found != wanted:
            raise AssertionError(f"{what}: {found!r} instead of {wanted!r}; log: {open(self.log.name).read().strip()}")

    def check_errno(self, what, found, wanted):
        self.expect(what, errno.errorcode.get(found, found), errno.errorcode.get(wanted, wanted))

    def stored(self, path, options=None):
        options = self.options if options is None else options
        if self.state == "grouped" and os.path.exists(self.file) and os.path.samefile(path, self.file):
            with open(self.point + "/.realm/README") as file:
                os.fsync(file.fileno())
        run(realmfs, "check", *options, path)
        return json.loads(run(realmfs, "cat", *options, path, "Person/4.json").stdout)["age"]

    def verify(self):
        self.operation.run(self)
        shown, saved, kept = self.operation.outcome(self)
        now, keyed = {"old": 41, "new": 900}.get(shown, shown), self.options
        found = self.age()
        self.expect("what the mount shows", found, now)
        self.expect("a second look", self.age(), now)
        if self.state == "reading" and self.handle is not None:
            self.expect("the open handle", os.pread(self.handle, 1 << 16, 0).decode(), self.text)
            os.close(self.handle)
        self.expect("the acknowledged save", self.stored(kept) if kept else 41, 41)
        if self.state == "writing" and self.handle is not None:
            wanted = self.operation.close(self, saved)
            self.check_errno("close of the written handle", self.close_written(), wanted)
            if wanted:
                rejected = self.point + "/.realm/rejected/Person/4.json"
                self.expect("the refused text", open(rejected).read(), '{"age": 42}')
            else:
                self.expect("what was closed", self.stored(self.file), 42)
        self.check_errno("the next save", self.save(43), saved)
        if saved == 0:
            self.expect("what is stored", self.stored(self.file, self.operation.options_after(self)), 43)
            self.expect("what is shown", self.age(), 43)
            if kept and not os.path.exists(self.file) or kept and not os.path.samefile(kept, self.file):
                self.expect("the former file", self.stored(kept), 41)
        else:
            self.expect("what is shown after the refusal", self.age(), now)
            if kept:
                self.expect("what is stored after the refusal", self.stored(kept), 41)
            if not self.operation.is_read_only:
                errors = open(self.point + "/.realm/errors").read()
                if saved == errno.ESTALE:
                    self.expect("the refusal in .realm/errors", "Person/4.json" in errors, True)
                self.expect("the condition in .realm/errors", '"operation": "realm"' in errors, True)

    def finish(self):
        try:
            run(realmfs, "umount", "--discard", self.point)
            self.expect("the server's status", self.server.wait(PATIENCE), 0)
        finally:
            if self.server.poll() is None:
                self.server.kill()
                subprocess.run(["umount", "-l", self.point], capture_output=True)

    def session_of(self):
        """True if the mount has the realm open during the operation."""
        return self.state != "idle"


class Operation:
    """An operation on the realm file, and the expected content, result of saves, and file with the acknowledged save."""

    is_encrypted = is_read_only = False
    base = None

    def __init__(self, name, act, shown, saved, kept, close=None):
        self.name, self.act, self.shown, self.saved, self.kept, self.closed = name, act, shown, saved, kept, close

    def run(self, case):
        self.act(case)

    def outcome(self, case):
        kept = self.kept(case) if callable(self.kept) else self.kept
        return self.shown, self.saved, kept and case.path(kept)

    def close(self, case, saved):
        return saved if self.closed is None else self.closed

    def options_after(self, case):
        return case.options


class Rewrite(Operation):
    """A command that needs exclusive access: while the mount has the realm open, it is refused and changes nothing."""

    def __init__(self, name, words, shown="old", saved=0, is_encrypted=False, plain_after=False):
        super().__init__(name, None, shown, saved, "a")
        self.words, self.is_encrypted, self.plain_after = words, is_encrypted, plain_after

    def run(self, case):
        words = [realmfs, *(word.format(key=key, folder=case.folder) for word in self.words), case.file]
        run(*words, status=8 if case.session_of() else 0)

    def outcome(self, case):
        if case.session_of():
            return "old", 0, case.file
        return self.shown, self.saved, case.file if self.saved == 0 and not self.plain_after else None

    def options_after(self, case):
        return [] if self.plain_after and not case.session_of() else case.options


def move(case):
    os.rename(case.file, case.path("b"))


def move_back(case):
    move(case)
    case.age()
    os.rename(case.path("b"), case.file)


def remove(case):
    os.unlink(case.file)


def remove_and_make(case):
    os.unlink(case.file)
    shutil.copyfile(case.path("new"), case.file)


def move_over(case):
    os.link(case.file, case.path("b"))
    os.rename(case.path("new"), case.file)


def copy_over(case):
    shutil.copyfile(case.path("new"), case.file)


def rsync(case):
    os.link(case.file, case.path("b"))
    run("rsync", "-a", "--ignore-times", case.path("new"), case.file)


def rsync_in_place(case):
    run("rsync", "-a", "--ignore-times", "--inplace", case.path("new"), case.file)


def link_and_remove(case):
    os.link(case.file, case.path("b"))
    os.unlink(case.file)


def backup_and_move(case):
    run(realmfs, "backup", case.file, case.path("copy"))
    os.rename(case.path("copy"), case.file)


def backup_and_copy(case):
    run(realmfs, "backup", case.file, case.path("copy"))
    shutil.copyfile(case.path("copy"), case.file)


def recover_and_move(case):
    os.link(case.file, case.path("b"))
    run(realmfs, "recover", case.path("new"), case.path("out"))
    os.rename(case.path("out"), case.file)


class AppDeletes(Rewrite):
    """An app that deletes its realm: refused while a program holds the lock file, otherwise all other files are removed."""

    def __init__(self):
        Operation.__init__(self, "an app deletes it", None, "old", errno.ESTALE, None)
        self.plain_after = False

    def run(self, case):
        with open(case.file + ".lock", "r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                was_refused = False
                os.unlink(case.file)
                shutil.rmtree(case.file + ".management")
                if os.path.exists(case.file + ".note"):
                    os.unlink(case.file + ".note")
            except BlockingIOError:
                was_refused = True
        case.expect("the app is kept out", was_refused, case.session_of())


class Convert(Operation):
    """A local copy replaces a synced realm. The mount stays read-only, as it began."""

    is_read_only, base = True, "synced"

    def __init__(self):
        super().__init__("convert and mv", None, None, errno.EROFS, None)

    def run(self, case):
        self.before = tree(case.point)
        run(realmfs, "convert", "--local", case.file, case.path("copy"))
        os.rename(case.path("copy"), case.file)


class Upgrade(Operation):
    """A file of an older format is upgraded in place."""

    is_read_only, base = True, "old/v9"

    def __init__(self):
        super().__init__("upgrade", None, None, errno.EROFS, None)

    def run(self, case):
        self.before = tree(case.point)
        run(realmfs, "upgrade", case.file)


def tree(point):
    found = {}
    for folder, _, names in os.walk(point):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.relpath(os.path.join(folder, name), point)] = file.read()
    return found


def verify_read_only(case):
    operation = case.operation
    handle = os.open(case.point + "/" + sorted(tree(case.point))[0], os.O_RDONLY) if case.state == "reading" else None
    text = os.pread(handle, 1 << 16, 0) if handle is not None else None
    operation.run(case)
    before, after = operation.before, tree(case.point)
    case.expect("what is shown", {name for name in before | after if before.get(name) != after.get(name)}, set())
    if handle is not None:
        case.expect("the open handle", os.pread(handle, 1 << 16, 0), text)
        os.close(handle)
    try:
        os.mkdir(case.point + "/New")
        case.expect("a change", "made", "refused")
    except OSError as error:
        case.check_errno("a change", error.errno, errno.EROFS)
    run(realmfs, "check", case.file)


# Name, operation, content of the mount, result of a save, the file that must hold the acknowledged save, and the result of
# closing a handle written before, where that differs.
STALE = errno.ESTALE
OPERATIONS = [
    Operation("mv away", move, "old", STALE, "b"),
    Operation("mv away and back", move_back, "old", 0, "a"),
    Operation("rm", remove, "old", STALE, None),
    Operation("rm and a new file", remove_and_make, "new", 0, None, close=STALE),
    Operation("mv another over it", move_over, "new", 0, "b", close=STALE),
    Operation("cp another over it", copy_over, "new", 0, None, close=STALE),
    Operation("rsync another over it", rsync, "new", 0, "b", close=STALE),
    Operation("rsync --inplace", rsync_in_place, "new", 0, None, close=STALE),
    Operation("ln and rm", link_and_remove, "old", STALE, "b"),
    Operation("backup and mv", backup_and_move, "old", 0, "a", close=STALE),
    Operation("backup and cp", backup_and_copy, "old", 0, "a", close=STALE),
    Operation("recover and mv", recover_and_move, "new", 0, "b", close=STALE),
    Rewrite("compact", ["compact"]),
    Rewrite("encrypt", ["encrypt", "--key-file", "{key}"], -errno.ENOKEY, errno.ENOKEY),
    Rewrite("decrypt", ["decrypt", "--key-file", "{key}"], is_encrypted=True, plain_after=True),
    Rewrite("rekey", ["rekey", "--key-file", "{key}", "--new-key-file", "{folder}/key"], -errno.EKEYEXPIRED,
            errno.EKEYEXPIRED, is_encrypted=True),
    Rewrite("upgrade of a current format", ["upgrade"]),
    AppDeletes(),
    Convert(),
    Upgrade(),
]
STATES = ["idle", "reading", "writing", "grouped"]


def prepare(pair):
    operation, state = pair
    folder = os.path.join(scratch, f"{operation.name}, {state}".replace(", ", "."))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "key"), "wb") as file:
        file.write(bytes(range(64)))
    try:
        return Case(operation, state)
    except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
        failures.append(operation.name)
        say(f"not ok - {operation.name}, {state}: preparation: {error}")
        return None


def check(case):
    try:
        try:
            (verify_read_only if case.operation.is_read_only else Case.verify)(case)
        finally:
            case.finish()
        say(f"ok - {case.name}")
    except (AssertionError, OSError, subprocess.TimeoutExpired, ValueError) as error:
        failures.append(case.name)
        say(f"not ok - {case.name}: {type(error).__name__} {error}")


def main():
    only = sys.argv[1:]
    old = sorted(name for name in os.listdir(os.path.join(fixtures, "old")) if name.endswith(".realm"))
    Upgrade.base = "old/" + [name for name in old if "encrypted" not in name][-1][:-6]
    pairs = [(operation, state) for operation in OPERATIONS for state in STATES
             if not (operation.is_read_only and state in ("writing", "grouped"))
             and (not only or f"{operation.name}, {state}" in only or operation.name in only or state in only)]
    if shutil.which("rsync") is None:
        say("skip - rsync is absent")
        pairs = [pair for pair in pairs if not pair[0].name.startswith("rsync")]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        # Idle mounts leave the session, all at once.
        idle = [case for case in pool.map(prepare, [pair for pair in pairs if pair[1] == "idle"]) if case]
        busy = [pair for pair in pairs if pair[1] != "idle"]
        list(pool.map(lambda pair: (lambda case: case and check(case))(prepare(pair)), busy))
        for case in idle:
            if not case.operation.is_read_only:
                until(lambda case=case: not case.is_in_session(), f"{case.name}: idle")
        list(pool.map(check, idle))


main()
