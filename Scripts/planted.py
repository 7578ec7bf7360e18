#!/usr/bin/env python3
"""Plants the bugs of Tests/Planted, one at a time, and reports which test finds each, and after how long.

All of them are compiled into one build of a copy of the package: where a patch changes a line, the copy has both
versions, and the environment variable PLANTED selects one. Each patch applies to the sources independently.

    Scripts/planted.py                  every bug
    Scripts/planted.py barrier list     those whose names contain one of the words
    Scripts/planted.py --check          only checks that each patch applies and can be planted
    Scripts/planted.py --fit            updates the line numbers in the patches
    Scripts/planted.py --built          without another build

A patch begins with a sentence that describes the bug, and with the tests that look for it:

    Tests: states, CrashTests           `states` is `PowerCut states`, `disk FORMAT` is `PowerCut disk FORMAT`,
                                        `simulator` is `Simulator run 1 500`, `simulator SEED` is that seed alone, which
                                        finds a bug as long as programs take the same steps
    Expression: OLD ==> NEW             the difference within a condition or declaration that is not a statement
    Open: WHY                           run only if it is named, because no known test finds it
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "Tests", "Planted")
COPY = os.path.join(ROOT, ".build", "planted")
TARGETS = "RealmPagesTests RealmJSONTests RealmQueryTests FileTreeTests PowerCut Simulator CommitLoop realmfs"
SECONDS = 60

SWITCH = """// The number of the planted bug that is enabled.

import Glibc

let plantedBug = getenv("PLANTED").flatMap { Int(String(cString: $0)) } ?? 0
"""


class Bug:
    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)[: -len(".patch")]
        self.number = int(self.name.split("-")[0])
        head, self.hunks = [], []
        for line in open(path, encoding="utf-8").read().split("\n"):
            if line.startswith("--- a/"):
                file = line[6:]
            elif line.startswith("@@"):
                self.hunks.append((file, int(re.match(r"@@ -(\d+)", line).group(1)), []))
            elif line.startswith("+++ "):
                pass
            elif self.hunks:
                self.hunks[-1][2].append(line)
            else:
                head.append(line)
        fields = dict(line.split(": ", 1) for line in head if re.match(r"(Tests|Expression|Open): ", line))
        self.story = " ".join(line for line in head if not re.match(r"(Tests|Expression|Open): ", line)).strip()
        self.tests = [test.strip() for test in fields.get("Tests", "").split(",") if test.strip()]
        self.is_open = "Open" in fields
        self.expression = fields["Expression"].split(" ==> ") if "Expression" in fields else None

    def changes(self):
        """(file, index of the first line, removed lines, added lines), from 0."""
        for file, start, lines in self.hunks:
            at, removed, added = start - 1, [], []
            for line in lines + [" "]:
                if line.startswith("-"):
                    removed.append(line[1:])
                elif line.startswith("+"):
                    added.append(line[1:])
                else:
                    if removed or added:
                        yield file, at, removed, added
                        at += len(removed)
                        removed, added = [], []
                    at += 1

    def inserted(self, text):
        """The text with a conditional in place of the expression."""
        old, new = self.expression
        if text.count(old) != 1:
            raise ValueError(f"{self.name}: the expression is not there once")
        return text.replace(old, f"(plantedBug == {self.number} ? ({new}) : ({old}))")

    def planted(self, removed, added):
        """The lines that behave like `removed`, and like `added` when the bug is enabled."""
        test = f"plantedBug == {self.number}"
        if self.expression:
            old, new = self.expression
            text = "\n".join(removed)
            if text.replace(old, new) != "\n".join(added):
                raise ValueError(f"{self.name}: the expression is not the difference")
            return self.inserted(text).split("\n")
        if not removed:
            return [f"if {test} {{"] + added + ["}"]
        if not added:
            return [f"if !({test}) {{"] + removed + ["}"]
        return [f"if {test} {{"] + added + ["} else {"] + removed + ["}"]


def fit(bug):
    """Sets the line number of each hunk of a patch to the nearest position where its lines are now."""
    lines, shifts = open(bug.path, encoding="utf-8").read().split("\n"), {}
    hunks = iter(bug.hunks)
    for index, line in enumerate(lines):
        match = re.match(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@(.*)", line)
        if not match:
            continue
        file, start, body = next(hunks)
        if lines[-1] == "" and body and body[-1] == "":
            body = body[:-1]
        old = [entry[1:] for entry in body if entry[:1] in (" ", "-")]
        source = open(os.path.join(ROOT, file), encoding="utf-8").read().split("\n")
        places = [at for at in range(len(source)) if source[at : at + len(old)] == old]
        if not places:
            sys.exit(f"planted: {bug.name}: its lines are not in {file}")
        place = min(places, key=lambda at: abs(at + 1 - start)) + 1
        shift = shifts.get(file, 0)
        new = sum(entry[:1] in (" ", "+") for entry in body)
        shifts[file] = shift + new - len(old)
        lines[index] = f"@@ -{place},{len(old)} +{place + shift},{new} @@{match.group(5)}"
    open(bug.path, "w", encoding="utf-8").write("\n".join(lines))


def plant(bugs):
    """Writes the copy of the package. Unchanged files keep their times, so that little is built again."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    changes = {}
    for bug in bugs:
        for file, at, removed, added in bug.changes():
            changes.setdefault(file, []).append((at, bug, removed, added))
    modules = sorted({os.path.join(*file.split("/")[:2]) for file in changes})
    wanted = {os.path.join(module, "Planted.swift"): SWITCH for module in modules}
    for file in listed.stdout.split("\n"):
        source = os.path.join(ROOT, file)
        if not file or not os.path.isfile(source):
            continue
        if file not in changes:
            target = os.path.join(COPY, file)
            if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(source, target)
            continue
        lines, shift = open(source, encoding="utf-8").read().split("\n"), 0
        start, end = -1, 0
        for at, bug, removed, added in sorted(changes[file], key=lambda change: change[0]):
            if (at, at + len(removed)) == (start, end) and bug.expression:
                # Several bugs in one expression.
                lines[at + shift] = bug.inserted(lines[at + shift])
                continue
            if at < end:
                raise ValueError(f"{bug.name}: another bug is planted in {file}:{at + 1}")
            if lines[at + shift : at + shift + len(removed)] != removed:
                raise ValueError(f"{bug.name}: {file}:{at + 1} has other lines")
            body = bug.planted(removed, added)
            lines[at + shift : at + shift + len(removed)] = body
            shift += len(body) - len(removed)
            start, end = at, at + len(removed)
        wanted[file] = "\n".join(lines)
    known = {os.path.join(COPY, file) for file in list(wanted) + listed.stdout.split("\n")}
    for part in ("Sources", "Tests"):
        for folder, _, names in os.walk(os.path.join(COPY, part)):
            for name in names:
                if name.endswith((".swift", ".c", ".h")) and os.path.join(folder, name) not in known:
                    os.remove(os.path.join(folder, name))
    # The directory next to the package.
    beside = os.path.join(os.path.dirname(COPY), "shared")
    if os.path.isdir(os.path.join(ROOT, "..", "shared")) and not os.path.exists(beside):
        os.symlink(os.path.join(ROOT, "..", "shared"), beside)
    for file, text in wanted.items():
        target = os.path.join(COPY, file)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or open(target, encoding="utf-8").read() != text:
            open(target, "w", encoding="utf-8").write(text)


def build():
    # Optimized, or the tests of many states would take too long; warnings in planted code do not count.
    command = ["swift", "build", "-c", "release", "-Xswiftc", "-enable-testing", "--build-tests"]
    package = os.path.join(COPY, "Package.swift")
    text = open(package, encoding="utf-8").read()
    open(package, "w", encoding="utf-8").write(text.replace("settings.append(.treatAllWarnings(as: .error))", ""))
    return subprocess.run(command, cwd=COPY, env=dict(os.environ, REALMFS_TESTS=TARGETS)).returncode == 0


def run(test, number):
    """How a test ends with a bug enabled: fails, hangs or traps; None if it succeeds."""
    environment = dict(os.environ, PLANTED=str(number), REALMFS_TESTS=TARGETS, SWIFT_BACKTRACE="enable=no")
    words = test.split()
    programs = os.path.join(COPY, ".build", "release")
    if words[0] == "states":
        command = [os.path.join(programs, "PowerCut"), "states", "6000"]
    elif words[0] == "disk":
        command = [os.path.join(programs, "PowerCut"), "disk", words[1], "300"]
    elif words[0] == "simulator":
        seeds = [words[1], "1"] if len(words) > 1 else ["1", "500"]
        command = [os.path.join(programs, "Simulator"), "run", *seeds]
    else:
        command = ["swift", "test", "-c", "release", "-Xswiftc", "-enable-testing", "--skip-build", "--filter", test]
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    # A test program that was killed may still be writing.
    with tempfile.TemporaryDirectory(dir=memory, ignore_cleanup_errors=True) as scratch:
        environment["TMPDIR"] = scratch
        process = subprocess.Popen(
            command, cwd=COPY, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            status = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return "hangs"
        if status < 0:
            return "ends with a signal"
        return None if status == 0 else "fails"


def main():
    words = sys.argv[1:]
    options = {word for word in words if word.startswith("-")}
    words = [word for word in words if not word.startswith("-")]
    if options & {"-h", "--help"}:
        print(__doc__.strip())
        return
    if unknown := options - {"--check", "--fit", "--built"}:
        sys.exit(f"planted: unknown option {min(unknown)}")
    bugs = [Bug(os.path.join(FOLDER, name)) for name in sorted(os.listdir(FOLDER)) if name.endswith(".patch")]
    if "--fit" in options:
        for bug in bugs:
            fit(bug)
        return
    if "--built" not in options:
        plant(bugs)
    for bug in bugs:
        command = ["git", "apply", "--check", bug.path]
        if subprocess.run(command, cwd=ROOT).returncode != 0:
            sys.exit(f"planted: {bug.name} does not apply")
        if not bug.tests or not bug.story:
            sys.exit(f"planted: {bug.name} has no story or no tests")
    if "--check" in options:
        print(f"planted: {len(bugs)} bugs apply")
        return
    if "--built" not in options and not build():
        sys.exit("planted: the copy does not build")
    chosen = [bug for bug in bugs if any(word in bug.name for word in words) or not words and not bug.is_open]
    # A test that fails without a bug cannot detect one.
    for test in sorted({test for bug in chosen for test in bug.tests}):
        if run(test, 0):
            sys.exit(f"planted: {test} fails without any bug")
    missed = []
    for bug in chosen:
        found, start = None, time.monotonic()
        for test in bug.tests:
            start = time.monotonic()
            found = run(test, bug.number)
            if found:
                break
        took = time.monotonic() - start
        if not found:
            missed.append(bug.name)
        print(f"{bug.name}: {test + ' ' + found if found else 'NOT FOUND'} ({took:.0f} s)", flush=True)
    print(f"planted: {len(chosen) - len(missed)} of {len(chosen)} bugs found")
    sys.exit(1 if missed else 0)


main()
