"""Readers and writers of shared_selections.sh: every commit sets the same round in all objects of a class."""

import csv
import json
import os
import subprocess
import sys
import threading
import time

COUNT = 600


def lines(number):
    """All objects, in this round."""
    objects = ({"_id": key, "round": number, "even": number % 2 == 0, "text": "x" * (key % 97)} for key in range(COUNT))
    return "".join(json.dumps(entry) + "\n" for entry in objects)


def single(what, rounds, count):
    """Fails unless there were COUNT objects of one round."""
    if len(set(rounds)) != 1 or count != COUNT:
        raise ValueError(f"{what}: {count} objects of the rounds {sorted(set(rounds))}")


def read_lines(point, size):
    with open(f"{point}/Item/.all.jsonl", "rb", buffering=0) as file:
        parts = list(iter(lambda: file.read(size), b""))
    objects = [json.loads(line) for line in b"".join(parts).splitlines()]
    single(".all.jsonl", [entry["round"] for entry in objects], len(objects))


def read_csv(point):
    with open(f"{point}/Item/.all.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    single(".all.csv", [row["round"] for row in rows], len(rows))


def read_where(point, query):
    with open(f"{point}/Item/.where/{query}/.all.jsonl", "rb") as file:
        objects = [json.loads(line) for line in file]
    # None, or all of one round.
    if objects:
        single(query, [entry["round"] for entry in objects], len(objects))


def read_names(point, query):
    count = len(os.listdir(f"{point}/Item/.where/{query}"))
    if count not in (0, COUNT):
        raise ValueError(f"{query}: {count} names")


def read_values(point):
    values = os.listdir(f"{point}/Item/.by/round")
    if len(values) != 1:
        raise ValueError(f".by/round: rounds {values}")


def read_count(point):
    with open(f"{point}/Item/.where/even == true/.count", encoding="ascii") as file:
        count = int(file.read())
    if count not in (0, COUNT):
        raise ValueError(f".count of even rounds: {count}")


READERS = [
    lambda point: read_lines(point, 1 << 20),
    lambda point: read_lines(point, 777),
    read_csv,
    lambda point: read_where(point, "round >= 0 SORT(text DESC, _id ASC)"),
    lambda point: read_where(point, "even == false"),
    lambda point: read_names(point, "even == true"),
    read_values,
    read_count,
]


def write(point, number):
    with open(f"{point}/Item/.all.jsonl", "w", encoding="ascii") as file:
        file.write(lines(number))


def run(realmfs, path, point, seconds, scratch):
    end = time.monotonic() + seconds
    failures, reads, writes = [], [0] * len(READERS), [0, 0]

    def reader(index):
        while time.monotonic() < end and not failures:
            READERS[index](point)
            reads[index] += 1

    def writer(index):
        number = index + 1
        while time.monotonic() < end and not failures:
            if index == 0:
                write(point, number)
            else:
                with open(f"{scratch}/lines.jsonl", "w", encoding="ascii") as file:
                    file.write(lines(number))
                subprocess.run([realmfs, "import", "-q", "--class", "Item", path, f"{scratch}/lines.jsonl"], check=True)
            writes[index] += 1
            number += 3

    def guarded(body, index):
        try:
            body(index)
        except Exception as error:  # pylint: disable=broad-except
            failures.append(f"{body.__name__} {index}: {error!r}")

    threads = [threading.Thread(target=guarded, args=(reader, index)) for index in range(len(READERS))]
    threads += [threading.Thread(target=guarded, args=(writer, index)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(reads)} reads, {writes[0]} + {writes[1]} commits", *failures, sep="\n")
    return 1 if failures or 0 in reads or 0 in writes else 0


def main():
    if sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "read":
        for read in READERS:
            read(sys.argv[2])
    else:
        sys.exit(run(*sys.argv[2:5], float(sys.argv[5]), sys.argv[6]))


main()
