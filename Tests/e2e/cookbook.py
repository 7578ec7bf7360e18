#!/usr/bin/env python3
"""Runs docs/COOKBOOK.md: every block marked `console`. The tour and each recipe (each section `## TITLE`) is one shell
session in a new folder with copies of the sample realms. Prints a line for each section, as the other tests do.

A line that begins with `$ ` is a command, a line `> ` continues it. The lines that follow are its expected output; a
line `...` matches any number of lines. A command must succeed. `--write` writes the real output into the document.

usage: cookbook.py DOCUMENT FIXTURES PROGRAM [--write]"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SEPARATOR = "\x1e"


def recipes(text):
    """(title, [block]) for each section; a block is (start, end) in the text."""
    headings = list(re.finditer(r"^## (.*)$", text, re.M))
    for heading, following in zip(headings, headings[1:] + [None]):
        end = following.start() if following else len(text)
        blocks = re.finditer(r"^```console\n(.*?)^```$", text[heading.end() : end], re.M | re.S)
        yield heading[1], [(heading.end() + b.start(1), heading.end() + b.end(1)) for b in blocks]


def commands(block):
    """(command, expected output lines) in a block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (found[-1][0] + "\n" + line[2:], [])
        elif found:
            found[-1][1].append(line)
    return found


def matches(expected, actual):
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and expected[0] == actual[0] and matches(expected[1:], actual[1:])


def run(lines, fixtures, program):
    """Output lines and status of each command, in one shell."""
    script = "".join(f"{command}\nprintf '{SEPARATOR}%d{SEPARATOR}' $?\n" for command in lines)
    with tempfile.TemporaryDirectory(prefix="realmfs-e2e.") as folder:
        folder = pathlib.Path(folder)
        work, tools = folder / "work", folder / "tools"
        work.mkdir()
        tools.mkdir()
        (tools / "realmfs").symlink_to(os.path.abspath(program))
        for fixture in pathlib.Path(fixtures).iterdir():
            if fixture.suffix == ".realm" or fixture.name == "encrypted.key.hex":
                shutil.copy(fixture, work)
                (work / fixture.name).chmod(0o600)
        environment = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
        try:
            result = subprocess.run(
                ["bash", "-c", script], cwd=work, env=environment, stdin=subprocess.DEVNULL, timeout=60, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
        finally:
            for line in reversed(open("/proc/self/mounts").readlines()):
                if line.split()[1].startswith(str(folder)):
                    subprocess.run(["umount", "-l", line.split()[1]], check=False)
    # A message of an interactive shell has no line number.
    output = re.sub(r"\bbash: line \d+: ", "bash: ", result.stdout.replace(str(work), "/home/ann"))
    parts = output.split(SEPARATOR)
    return [(out.splitlines(), int(status)) for out, status in zip(parts[::2], parts[1::2])]


def check(block, found):
    """The fault, or None; and the block with the real output."""
    fault, text = None, []
    for (command, expected), (actual, status) in zip(commands(block), found):
        shown = expected if matches(expected, actual) else actual
        text += ["$ " + command.replace("\n", "\n> ")] + shown
        if status != 0:
            fault = fault or f"`{command}` ended with status {status}: {' | '.join(actual)[:400]}"
        elif shown is not expected:
            fault = fault or f"`{command}` printed: {' | '.join(actual)[:400]}"
    if len(found) < len(commands(block)):
        fault = fault or "the shell ended early"
    return fault, "\n".join(text) + "\n"


def main():
    document, fixtures, program = sys.argv[1:4]
    text = pathlib.Path(document).read_text()
    replaced = []
    for title, blocks in recipes(text):
        sources = [text[start:end] for start, end in blocks]
        found = run([c for source in sources for c, _ in commands(source)], fixtures, program) if sources else []
        faults = []
        for (start, end), source in zip(blocks, sources):
            count = len(commands(source))
            fault, real = check(source, found[:count])
            found = found[count:]
            faults += [fault] if fault else []
            replaced.append((start, end, real))
        if not sources:
            continue
        kind = "not ok" if faults else "ok"
        print(f"{kind} - {title}" + "".join(f": {fault}" for fault in faults))
    if "--write" in sys.argv:
        for start, end, real in reversed(replaced):
            text = text[:start] + real + text[end:]
        pathlib.Path(document).write_text(text)


main()
