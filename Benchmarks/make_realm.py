#!/usr/bin/env python3
"""Writes a large realm file of file format 24 for benchmarks, in seconds and in constant memory per cluster.

The file has the streaming form: a header, the nodes front to back (children before parents), the top array of three
slots, a footer. It holds one class of N objects (an Int primary key with its search index, and a string, an int, a
double, a bool, a date and an optional link) and the class Owner that the links lead to, with its backlinks. The same
arguments always give the same bytes.
"""

import argparse
import array
import struct
import sys
import time

CLUSTER = 256  # objects in a leaf, children of an inner cluster node
BRANCH = 1000  # elements in a leaf, children of an inner node, of B+trees and search indexes
NO_TABLE = 0x7FFFFFFF
NO_COLUMN = 0x7FFFFFFFFFFFFFFF

# Type codes and attribute bits of columns.
INT, BOOL, STRING, DATE, DOUBLE, LINK, BACKLINK = 0, 1, 2, 8, 10, 12, 14
INDEXED, NULLABLE = 1, 16

# Header flags and width schemes of nodes.
INNER, HAS_REFS, CONTEXT = 0x80, 0x40, 0x20
BITS, MULTIPLY, IGNORE = 0x00, 0x08, 0x10

INTEGER_CODES = {8: "b", 16: "h", 32: "i", 64: "q"}


def tagged(value):
    """A tagged number, in a slot that could also hold a ref."""
    return value << 1 | 1


def width_of(low, high):
    """The fewest bits that hold every integer from low to high."""
    if low >= 0 and high <= 15:
        return 0 if high == 0 else 1 if high == 1 else 2 if high <= 3 else 4
    for bits in (8, 16, 32):
        if -(1 << (bits - 1)) <= low and high < 1 << (bits - 1):
            return bits
    return 64


class Writer:
    """Appends nodes to the file. Every method that writes one returns its ref."""

    def __init__(self, out):
        self.out = out
        self.position = 24
        out.write(b"\xff" * 8 + bytes(8) + b"T-DB" + bytes([24, 0, 0, 0]))

    def node(self, flags, width, count, payload):
        header = b"AAAA" + bytes([flags | width.bit_length()]) + count.to_bytes(3, "big")
        ref = self.position
        padding = -len(payload) & 7
        self.out.write(header + payload + bytes(padding))
        self.position = ref + 8 + len(payload) + padding
        return ref

    def integers(self, values, flags=0, width=None):
        """An integer node of the least width, or of the given one."""
        if width is None:
            width = width_of(min(values), max(values)) if values else 0
        if width >= 8:
            packed = array.array(INTEGER_CODES[width], values)
            if sys.byteorder == "big":
                packed.byteswap()
            payload = packed.tobytes()
        elif width:
            per_byte = 8 // width
            payload = bytearray(-(-len(values) // per_byte))
            for i, value in enumerate(values):
                payload[i // per_byte] |= value << i % per_byte * width
        else:
            payload = b""
        return self.node(flags | BITS, width, len(values), bytes(payload))

    def refs(self, slots, flags=0):
        return self.integers(slots, flags | HAS_REFS)

    def keys(self, values):
        """A key array of a cluster: unsigned from 8 bits on."""
        high = max(values)
        width, code = next((w, c) for w, c in ((8, "B"), (16, "H"), (32, "I"), (64, "Q")) if high < 1 << w)
        packed = array.array(code, values)
        if sys.byteorder == "big":
            packed.byteswap()
        return self.node(BITS, width, len(values), packed.tobytes())

    def nullable_integers(self, values):
        """No nulls among the values; the sentinel in front is the largest number of the width."""
        width = max(8, width_of(min(values), max(values) + 1))
        return self.integers([(1 << (width - 1)) - 1, *values], width=width)

    def doubles(self, values):
        return self.node(MULTIPLY, 8, len(values), struct.pack(f"<{len(values)}d", *values))

    def dates(self, seconds, nanoseconds):
        return self.refs([self.nullable_integers(seconds), self.integers(nanoseconds)])

    def names(self, values):
        """Short strings of fixed width, without nulls."""
        data = [value.encode() for value in values]
        width = max(map(len, data), default=0)
        width = 1 << width.bit_length() if width else 1
        payload = b"".join(d + bytes(width - 1 - len(d)) + bytes([width - 1 - len(d)]) for d in data)
        return self.node(MULTIPLY, width, len(data), payload)

    def strings(self, values):
        """Strings of at most 63 bytes, without nulls, as a leaf of small blobs."""
        data = [value.encode() + b"\0" for value in values]
        ends, end = [], 0
        for d in data:
            end += len(d)
            ends.append(end)
        return self.refs([
            self.integers(ends),
            self.node(IGNORE, 1, end, b"".join(data)),
            self.integers([0] * len(data)),
        ])

    def list_of_integers(self, values):
        """A B+tree; only the last of its leaves is not full."""
        nodes = [self.integers(values[i:i + BRANCH]) for i in range(0, len(values), BRANCH)]
        each = BRANCH
        while len(nodes) > 1:
            grown = []
            for i in range(0, len(nodes), BRANCH):
                children = nodes[i:i + BRANCH]
                below = min(len(values) - i * each, len(children) * each)
                grown.append(self.refs([tagged(each), *children, tagged(below)], INNER))
            nodes = grown
            each *= BRANCH
        return nodes[0]

    def int_index(self, values, keys):
        """The search index of distinct ints from 0 to 2^31-1: one level, because the low four bytes of all differ."""
        words = array.array("i", values)
        words.byteswap()  # bytes in file order, read as a big-endian number
        order = sorted(range(len(words)), key=words.__getitem__)
        nodes = []
        for i in range(0, len(order), BRANCH):
            part = order[i:i + BRANCH]
            own = [words[j] for j in part]
            entries = [tagged(keys[j]) for j in part]
            nodes.append((own[-1], self.refs([self.integers(own, width=32), *entries], CONTEXT)))
        while len(nodes) > 1:
            grown = []
            for i in range(0, len(nodes), BRANCH):
                part = nodes[i:i + BRANCH]
                own = [last for last, _ in part]
                children = [ref for _, ref in part]
                slots = [self.integers(own, width=32), *children]
                grown.append((own[-1], self.refs(slots, CONTEXT | INNER)))
            nodes = grown
        return nodes[0][1]

    def cluster_tree(self, keys, columns):
        """The objects with these ascending keys; `columns(keys)` writes the leaves of one cluster of them."""
        leaves, begin = [], 0
        while begin < len(keys):
            first = keys[begin] // CLUSTER * CLUSTER
            end = begin
            while end < len(keys) and end - begin < CLUSTER and keys[end] < first + CLUSTER:
                end += 1
            part = keys[begin:end]
            compact = part[-1] - first == len(part) - 1
            slots = columns(part)
            head = tagged(len(part)) if compact else self.keys([key - first for key in part])
            leaves.append((first, self.refs([head, *slots]), len(part)))
            begin = end
        level, nodes = 0, leaves
        while len(nodes) > 1:
            level += 1
            if any(first != i << 8 * level for i, (first, _, _) in enumerate(nodes)):
                raise SystemExit("a cluster without objects cannot be part of a compact tree")
            grown = []
            for i in range(0, len(nodes), CLUSTER):
                part = nodes[i:i + CLUSTER]
                below = sum(count for _, _, count in part)
                slots = [0, tagged(level), tagged(below), *(ref for _, ref, _ in part)]
                grown.append((part[0][0], self.refs(slots, INNER), below))
            nodes = grown
        return nodes[0][1]


class Column:
    """One column: its index in the schema, and its key."""

    def __init__(self, name, type_code, attributes, position, table_key):
        self.name, self.type, self.attributes, self.position = name, type_code, attributes, position
        # The column key counter is 0, because no column was erased; the key has no flag for indexes.
        self.key = position | type_code << 16 | (attributes & ~INDEXED) << 22 | table_key << 30
        self.opposite = (NO_TABLE, NO_COLUMN)
        self.index = 0


def write_table(out, key, columns, clusters, next_sequence, primary_key=None):
    """The spec and the top array of a table whose objects are written."""
    named = [column for column in columns if column.name is not None]
    spec = out.refs([
        out.integers([column.type for column in columns]),
        out.names([column.name for column in named]),
        out.integers([column.attributes for column in columns]),
        0,
        0,
        out.integers([column.key for column in columns]),
    ])
    placed = sorted(columns, key=lambda column: column.position)
    return out.refs([
        spec,
        0,
        clusters,
        tagged(key),
        out.refs([column.index for column in placed]),
        tagged(0),
        tagged(1),
        out.integers([column.opposite[0] for column in placed]),
        out.integers([column.opposite[1] for column in placed]),
        tagged(next_sequence),
        0,
        0 if primary_key is None else tagged(primary_key.key),
        tagged(0),
        0,
    ])


def mixed_up(i):
    """A number of 32 bits that looks random, from i."""
    x = i * 2654435761 & 0xFFFFFFFF
    return x ^ x >> 15


def write_metadata(out, key):
    version = Column("version", INT, 0, 0, key)
    clusters = out.cluster_tree([0], lambda part: [out.integers([0])])
    return write_table(out, key, [version], clusters, 1)


def write_realm(path, class_name, count, owner_count, holes):
    metadata_key, item_key, owner_key = range(3)
    # With holes, every third object is deleted. Owners have no holes.
    keys = [key for key in range(count) if not (holes and key % 3 == 2)]
    origins = [[] for _ in range(owner_count)]

    def owner_of(key):
        x = mixed_up(key)
        return None if x & 3 == 3 else (x >> 2) % owner_count

    with open(path, "wb", buffering=1 << 20) as file:
        out = Writer(file)

        id_, name, quantity, price, active, created, owner = (
            Column(label, type_code, attributes, position, item_key)
            for position, (label, type_code, attributes) in enumerate([
                ("_id", INT, INDEXED), ("name", STRING, 0), ("quantity", INT, 0), ("price", DOUBLE, 0),
                ("active", BOOL, 0), ("created", DATE, 0), ("owner", LINK, NULLABLE),
            ]))
        owner_id = Column("_id", INT, INDEXED, 0, owner_key)
        owner_name = Column("name", STRING, 0, 1, owner_key)
        incoming = Column(None, BACKLINK, 0, 2, owner_key)
        owner.opposite = (owner_key, incoming.key)
        incoming.opposite = (item_key, owner.key)

        def item_leaves(part):
            noise = [mixed_up(key) for key in part]
            owners = [owner_of(key) for key in part]
            for key, target in zip(part, owners):
                if target is not None:
                    origins[target].append(key)
            return [
                out.integers([key + 1 for key in part]),
                # One in ten thousand is a needle for grep.
                out.strings([f"{'needle' if key % 10_000 == 42 else 'thing'} {x:08x} {key % 1000:03}"
                             for key, x in zip(part, noise)]),
                out.integers([x % 10_000 for x in noise]),
                out.doubles([x % 1_000_003 / 100 for x in noise]),
                out.integers([x >> 9 & 1 for x in noise]),
                out.dates([1_600_000_000 + 61 * key for key in part], [x % 1000 * 1_000_000 for x in noise]),
                out.integers([0 if target is None else target + 1 for target in owners]),
            ]

        def owner_leaves(part):
            links = []
            for key in part:
                found = origins[key]
                links.append(0 if not found else tagged(found[0]) if len(found) == 1
                             else out.list_of_integers(found))
            return [
                out.integers([key + 1 for key in part]),
                out.strings([f"owner number {key + 1:04}" for key in part]),
                out.refs(links),
            ]

        metadata = write_metadata(out, metadata_key)
        clusters = out.cluster_tree(keys, item_leaves)
        id_.index = out.int_index([key + 1 for key in keys], keys)
        items = write_table(
            out, item_key, [id_, name, quantity, price, active, created, owner], clusters, count, id_)

        owner_keys = list(range(owner_count))
        clusters = out.cluster_tree(owner_keys, owner_leaves)
        owner_id.index = out.int_index([key + 1 for key in owner_keys], owner_keys)
        owners = write_table(
            out, owner_key, [owner_id, owner_name, incoming], clusters, owner_count, owner_id)

        names = out.names(["metadata", "class_" + class_name, "class_Owner"])
        tables = out.refs([metadata, items, owners])
        write_top(out, names, tables)
    return len(keys), out.position + 16


def write_top(out, names, tables):
    """The top array, whose third slot is the end of the top array itself, and the footer."""
    ref = out.position
    size = ref  # grows to the fixed point, as the width of the array depends on it
    while True:
        width = width_of(0, max(names, tables, tagged(size)))
        end = ref + 8 + (-(-3 * width // 8) + 7 & ~7)
        if end == size:
            break
        size = end
    top = out.refs([names, tables, tagged(size)])
    out.out.write(struct.pack("<QQ", top, 0x3034125237E526C8))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("count", type=int, metavar="N", help="objects (with --holes, before every third is left out)")
    parser.add_argument("out", metavar="OUT", help="the file to write")
    parser.add_argument("--class", dest="class_name", default="Item", help="the class name (Item)")
    parser.add_argument("--owners", type=int, default=1000, help="objects of the class Owner (1000)")
    parser.add_argument("--holes", action="store_true", help="leave out every third object")
    options = parser.parse_args()
    if not 1 <= options.count < 1 << 31 or not 1 <= options.owners < 1 << 31:
        parser.error("N and --owners must lie between 1 and 2^31-1")
    if not 1 <= len(options.class_name.encode()) <= 57 or options.class_name == "Owner":
        parser.error("the class name must have 1 to 57 bytes and not be Owner")
    began = time.monotonic()
    objects, size = write_realm(options.out, options.class_name, options.count, options.owners, options.holes)
    print(f"{options.out}: {objects} objects, {size} bytes, {time.monotonic() - began:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
