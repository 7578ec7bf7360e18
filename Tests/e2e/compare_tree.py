#!/usr/bin/env python3
"""Compares the output of realmfs with the expected tree.

    compare_tree.py mount MOUNTPOINT EXPECTED.tree.jsonl
    compare_tree.py cat EXPECTED.tree.jsonl REALMFS cat [OPTION]... FILE

EXPECTED has a line for each class, {"path": CLASS, "objects": N}, and for each object, {"path": CLASS/NAME.json,
"value": {...}}, objects in the order of their keys.

`mount` compares the names of the classes and objects, st_size with the bytes read, and every byte of every file with the
value as `jq .` prints it. `cat` runs the command for each class and compares every line with the value as `jq -c .`
prints it. A real number is right if it has the same value and is written as a real number.

Prints at most 20 differences, then `compared N objects, D differences`. Exit status: 0 without difference, 1, or 2.
"""
import json
import os
import re
import subprocess
import sys


class Real(str):
    """A number with a point or an exponent, as its text."""


def parse(text):
    return json.loads(text, parse_float=Real, parse_constant=lambda name: ["no JSON", name])


def write(value, pretty, indent="\n"):
    """The value as jq writes it; real numbers as in their source."""
    if isinstance(value, Real):
        return str(value)
    if not value or not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    inner = indent + "  " if pretty else ""
    outer = indent if pretty else ""
    if isinstance(value, list):
        items, brackets = [write(v, pretty, inner) for v in value], "[]"
    else:
        colon = ": " if pretty else ":"
        items = [write(k, pretty) + colon + write(v, pretty, inner) for k, v in value.items()]
        brackets = "{}"
    return brackets[0] + ",".join(inner + item for item in items) + outer + brackets[1]


def same(got, want):
    """Equality, the order of members included."""
    if isinstance(got, Real) and isinstance(want, Real):
        return float(got) == float(want) and got.startswith("-") == want.startswith("-")
    if type(got) is not type(want):
        return False
    if isinstance(got, dict):
        return list(got) == list(want) and all(same(got[k], want[k]) for k in got)
    if isinstance(got, list):
        return len(got) == len(want) and all(map(same, got, want))
    return got == want


def difference(text, want, pretty):
    """The difference of a text from `want`, or None."""
    try:
        got = parse(text)
    except ValueError as error:
        return f"not JSON ({error}): {text[:200]!r}"
    if not same(got, want):
        return f"expected {json.dumps(want)[:300]}, found {json.dumps(got)[:300]}"
    # If the values are equal, only the notation of reals may differ; print the value found.
    if text != write(got, pretty) + "\n":
        return "the layout is not that of jq"
    return None


def expected_tree(path):
    """The objects of each class, by class and name, in file order."""
    tree = {}
    with open(path, encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            entry = parse(line)
            if "objects" in entry:
                tree[entry["path"]] = {}
            else:
                directory, name = entry["path"].split("/", 1)
                tree[directory][name] = entry["value"]
    return tree


def visible(path):
    return {name for name in os.listdir(path) if not name.startswith(".")}


def compare_names(where, found, wanted):
    for name in sorted(found - wanted):
        yield f"{where}{name}: not expected"
    for name in sorted(wanted - found):
        yield f"{where}{name}: missing"


def compare_mount(root, tree):
    yield from compare_names("", visible(root), set(tree))
    for directory in sorted(visible(root) & set(tree)):
        objects = tree[directory]
        yield from compare_names(directory + "/", visible(os.path.join(root, directory)), set(objects))
        for name, want in objects.items():
            path = os.path.join(root, directory, name)
            try:
                size = os.stat(path).st_size
                with open(path, "rb") as file:
                    data = file.read()
            except OSError as error:
                yield f"{directory}/{name}: {error.strerror}"
                continue
            if size != len(data):
                yield f"{directory}/{name}: st_size is {size}, but {len(data)} bytes were read"
            wrong = difference(data.decode("utf-8", "surrogateescape"), want, pretty=True)
            if wrong:
                yield f"{directory}/{name}: {wrong}"


def compare_cat(command, tree):
    for directory, objects in tree.items():
        run = subprocess.run(command + [directory], stdout=subprocess.PIPE, check=False)
        if run.returncode != 0:
            yield f"{directory}: exit status {run.returncode}"
        lines = re.findall(".*\n|.+", run.stdout.decode("utf-8", "surrogateescape"))
        if len(lines) != len(objects):
            yield f"{directory}: {len(lines)} lines for {len(objects)} objects"
        for line, (name, want) in zip(lines, objects.items()):
            wrong = difference(line, want, pretty=False)
            if wrong:
                yield f"{directory}/{name}: {wrong}"


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "mount":
        tree = expected_tree(arguments[2])
        differences = compare_mount(arguments[1], tree)
    elif len(arguments) >= 4 and arguments[0] == "cat":
        tree = expected_tree(arguments[1])
        differences = compare_cat(arguments[2:], tree)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    count = 0
    for line in differences:
        count += 1
        if count <= 20:
            print(line)
    print(f"compared {sum(map(len, tree.values()))} objects, {count} differences")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
