#!/usr/bin/env python3
"""Compares a replica in PostgreSQL with the export of its realm, value by value, by reading the tables in SQL. It relies
only on docs/POSTGRESQL.md and the table _realmfs_columns.

usage: replica.py PROGRAM FILE SCHEMA [OPTION OF EXPORT]...   (the database is that of psql's environment)"""

import base64
import decimal
import json
import math
import re
import struct
import subprocess
import sys

decimal.getcontext().prec = 50


def sql(text):
    """The rows of a query, each a list of texts."""
    query = f"SET TimeZone TO 'UTC'; COPY (SELECT row_to_json(q) FROM ({text}) q) TO STDOUT"
    output = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", query], capture_output=True)
    if output.returncode:
        sys.exit(output.stderr.decode())
    # COPY escapes backslashes once more.
    lines = output.stdout.decode().splitlines()
    return [list(json.loads(line.replace("\\\\", "\\")).values()) for line in lines]


def name(text):
    return '"' + text.replace('"', '""') + '"'


def seconds(value):
    """A date of an export as whole nanoseconds since 1970."""
    if isinstance(value, dict):
        date = value["$date"]
        return int(date["seconds"]) * 10**9 + date["nanoseconds"]
    found = re.fullmatch(r"(\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z", value)
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    # Days of the proleptic Gregorian calendar, by Howard Hinnant's algorithm.
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    fraction = int((found[7] or "").ljust(9, "0"))
    return ((days * 24 + hour) * 60 + minute) * 60 * 10**9 + second * 10**9 + fraction


def number(value):
    if isinstance(value, dict):
        return float(value.get("$numberDouble", value.get("$numberFloat")).replace("Infinity", "inf"))
    return float(value)


def same_float(a, b):
    return math.isnan(a) and math.isnan(b) or a == b and math.copysign(1, a) == math.copysign(1, b)


def raw(value):
    if isinstance(value, dict):
        return base64.b64decode(value["$invalidString"]["base64"])
    return value.encode()


def scalar(form, value, text, exact):
    """True if the text of a column and of its additional column represents the value."""
    if value is None:
        return text is None and exact is None
    if text is None and exact is None:
        return False
    if form == "bigint":
        return int(text) == (int(value["$numberLong"]) if isinstance(value, dict) else int(value))
    if form == "boolean":
        return text == ("true" if value else "false")
    if form == "double precision":
        return same_float(float(text), number(value))
    if form == "real":
        return same_float(struct.unpack("f", struct.pack("f", float(text)))[0],
                          struct.unpack("f", struct.pack("f", number(value)))[0])
    if form == "text":
        if exact is not None:
            return text is None and bytes.fromhex(exact[2:]) == raw(value)
        return text is not None and text.encode() == raw(value)
    if form == "bytea":
        return bytes.fromhex(text[2:]) == base64.b64decode(value)
    if form == "timestamp with time zone":
        wanted = seconds(value)
        if text is not None and int(text) != wanted // 1000:
            return False
        if exact is None:
            return text is not None and wanted % 1000 == 0
        return exact == (value if isinstance(value, str) else json.dumps(value, separators=(",", ":")))
    if form == "numeric":
        if exact is not None and exact != value:
            return False
        special = {"NaN": "NaN", "-NaN": "NaN", "Inf": "Infinity", "-Inf": "-Infinity"}.get(value)
        if special:
            return text == special
        wanted = decimal.Decimal(value)
        if decimal.Decimal(text) != wanted:
            return False
        decimals = len(text.partition(".")[2])
        return exact is not None or decimals == max(0, -wanted.as_tuple().exponent)
    if form in ("objectId", "uuid"):
        return text == value
    raise SystemExit(f"form {form}")


def key_text(value):
    """The representation of a key in a column."""
    if isinstance(value, dict) and "$numberLong" in value:
        return value["$numberLong"]
    if isinstance(value, int):
        return str(value)
    data = raw(value)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None and len(data) <= 1024 and b"\0" not in data and not re.match(r"\\[x#]", text):
        return text
    if len(data) <= 512:
        return "\\x" + data.hex()
    import hashlib
    return "\\#" + hashlib.sha256(data).hexdigest()


def as_text(column, form):
    if form == "timestamp with time zone":
        return f"trunc(extract(epoch from {column}) * 1000000)::text"
    return f"{column}::text"


def same_json(value, text):
    def canonical(item):
        if isinstance(item, dict):
            return {key: canonical(part) for key, part in item.items()}
        if isinstance(item, list):
            return [canonical(part) for part in item]
        return item
    return canonical(json.loads(text, parse_float=decimal.Decimal, parse_int=decimal.Decimal)) == canonical(value)


def main(program, file, schema, options):
    export = subprocess.run([program, "export", *options, file, "-"], capture_output=True)
    catalog = [dict(zip(("role", "table", "class", "key", "property", "form", "column"), entry)) for entry in sql(
        f"SELECT role, table_name, class, key, property, form, column_name FROM {name(schema)}._realmfs_columns ORDER BY id")]
    tables = {entry["class"]: entry for entry in catalog if entry["role"] == "table"}
    objects = {}
    only = next(iter(tables)) if len(tables) == 1 else None
    for line in export.stdout.decode().splitlines():
        item = json.loads(line, parse_float=decimal.Decimal)
        objects.setdefault(item.pop("$class", only), []).append(item)
    problems = values = rows = 0

    def problem(*words):
        nonlocal problems
        problems += 1
        if problems <= 10:
            print(f"{file}:", *words)

    for label, table in tables.items():
        place = f"{name(schema)}.{name(table['table'])}"
        parts = [entry for entry in catalog if entry["table"] == table["table"] and entry["role"] == "value"]
        beside = {entry["form"]: entry["column"] for entry in catalog
                  if entry["table"] == table["table"] and entry["role"] == "exact"}
        key = table["form"].partition(" ")[2] if table["form"] != "_object_key" else None
        key_column = name(next(p["column"] for p in parts if p["property"] == key)) if key is not None else "_object_key"
        columns = [f"{key_column}::text"]
        for part in parts:
            if part["form"].endswith("[]"):
                element = as_text("e", part["form"][:-2])
                columns.append(f"CASE WHEN {name(part['column'])} IS NULL THEN NULL ELSE (SELECT coalesce(json_agg({element} ORDER BY o), '[]') "
                               f"FROM unnest({name(part['column'])}) WITH ORDINALITY AS u (e, o))::text END")
            else:
                columns.append(as_text(name(part["column"]), part["form"]))
            columns.append(f"{name(beside[part['column']])}::text" if part["column"] in beside else "NULL::text")
        found = {}
        for entry in sql("SELECT " + ", ".join(f"{column} AS c{index}" for index, column in enumerate(columns)) + f" FROM {place}"):
            found[entry[0]] = entry[1:]
        rows += len(found)
        lists = {}
        for entry in catalog:
            if entry["role"] == "links" and entry["key"] == table["table"]:
                lists[entry["property"]] = owners = {}
                for owner, position, target in sql(
                        f"SELECT owner::text, position, target::text FROM {name(schema)}.{name(entry['table'])} ORDER BY owner, position"):
                    owners.setdefault(owner, []).append(target)
                    if position != len(owners[owner]) - 1:
                        problem(label, entry["property"], owner, "has a gap")
        wanted = objects.get(label, [])
        if len(wanted) != len(found):
            problem(label, len(wanted), "objects,", len(found), "rows")
        primary = None
        for item in wanted:
            if key is not None:
                row_key = key_text(item[key])
            elif "$key" in item:
                row_key = str(item.pop("$key"))
            else:
                # The primary key can be null, so the row has an object key: find it by its content.
                row_key = None
            candidates = [found.get(row_key)] if row_key is not None else list(found.values())
            best = None
            for columns_found in candidates:
                if columns_found is None:
                    continue
                wrong = []
                for index, part in enumerate(parts):
                    value = item[part["property"]]
                    text, exact = columns_found[2 * index : 2 * index + 2]
                    form = part["form"]
                    if form.startswith("link "):
                        target = value["$id"] if isinstance(value, dict) and "$id" in value else value
                        # A target whose primary key can be null has an object key, which an export does not contain.
                        has_null = tables.get(form.split(" ", 2)[2].rpartition("(")[0], {}).get("form") == "_object_key" and not isinstance(target, int)
                        good = (text is None) == (value is None) if has_null else text == (None if value is None else key_text(target))
                    elif form == "jsonb":
                        good = value is None and text is None or (
                            text is not None and same_json(value, text) or exact is not None and same_json(value, exact))
                        good = good and (text is not None or exact is not None or value is None)
                    elif form.endswith("[]"):
                        if text is None:
                            good = exact is not None and json.loads(exact, parse_float=decimal.Decimal) == value
                        else:
                            elements = json.loads(text)
                            good = len(elements) == len(value) and (exact is not None and json.loads(exact, parse_float=decimal.Decimal) == value or all(
                                scalar(form[:-2], a, b, None) for a, b in zip(value, elements)))
                    elif part["property"] == key and text is not None and re.match(r"\\[x#]", text):
                        good = text == key_text(value) and bytes.fromhex(exact[2:]) == raw(value)
                    else:
                        good = scalar(form, value, text, exact)
                    values += 1
                    if not good:
                        wrong.append((part["property"], value, text, exact))
                if best is None or len(wrong) < len(best):
                    best = wrong
                if not wrong:
                    break
            if best is None:
                problem(label, row_key, "has no row")
            for difference in best or []:
                problem(label, row_key, *map(repr, difference))
            for property, owners in lists.items():
                targets = [key_text(v["$id"] if isinstance(v, dict) and "$id" in v else v) for v in item[property]]
                values += len(targets)
                if row_key is not None and owners.get(row_key, []) != targets:
                    problem(label, row_key, property, targets, owners.get(row_key))
        if set(objects) - set(tables):
            problem("classes without tables:", set(objects) - set(tables))
    print(f"{file}: {rows} rows, {values} values, {problems} differences")
    return problems


sys.exit(1 if main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]) else 0)
