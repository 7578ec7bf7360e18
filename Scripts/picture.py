#!/usr/bin/env python3
"""Prints docs/terminal.svg, the picture of the README: a terminal with the real output of the commands below on a copy of a
sample realm. REALMFS is the program."""

import html
import os
import pathlib
import shutil
import subprocess
import tempfile

COMMANDS = [
    "realmfs mount people.realm people",
    "ls people",
    "cat people/Dog/Rex.json",
    "grep -l Lassie people/Person/*",
    "jq -c '[.name, .age, .dog]' people/Person/4.json",
    "echo '{\"age\": 22}' > people/Person/4.json",
    "realmfs query people.realm Person 'age < 25' | jq -c '[.name, .age]'",
    "realmfs umount people",
]
COLUMNS, LINE, CHARACTER, MARGIN = 76, 18, 8.4, 16

repository = pathlib.Path(__file__).resolve().parent.parent
program = os.environ.get("REALMFS", str(repository / ".build/release/realmfs"))


def run():
    """(text, True for a command) for each line of the terminal."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(repository / "Tests/Fixtures/people.realm", folder)
        os.chmod(f"{folder}/people.realm", 0o644)
        os.mkdir(f"{folder}/people")
        os.mkdir(f"{folder}/bin")
        os.symlink(program, f"{folder}/bin/realmfs")
        environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        for command in COMMANDS:
            lines.append((command, True))
            output = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, text=True, check=True, stdout=subprocess.PIPE
            ).stdout
            lines += [(line, False) for line in output.splitlines()]
    return lines


def draw(lines):
    width, height = COLUMNS * CHARACTER + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN + 24
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" role="img" '
        f'aria-label="A terminal: a Realm file is mounted, read, changed and asked">'
    )
    yield '<rect width="100%" height="100%" rx="8" fill="#1e2127"/>'
    for index, color in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        yield f'<circle cx="{MARGIN + 6 + 18 * index}" cy="{MARGIN}" r="6" fill="{color}"/>'
    yield f'<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#abb2bf" xml:space="preserve">'
    for index, (text, is_command) in enumerate(lines):
        place = f'x="{MARGIN}" y="{MARGIN + 24 + LINE * (index + 1) - 4}"'
        if is_command:
            yield f'<text {place}><tspan fill="#98c379">$ </tspan><tspan fill="#ffffff">{html.escape(text)}</tspan></text>'
        else:
            yield f"<text {place}>{html.escape(text)}</text>"
    yield "</g>"
    yield "</svg>"


print("\n".join(draw(run())))
