# Compares a spreadsheet with the output of `realmfs cat`, cell by cell: xlsx.py REALMFS REALM SPREADSHEET [OPTION]...
import datetime, json, os, re, struct, subprocess, sys, zipfile
import xml.etree.ElementTree as xml

realmfs, realm, path, *options = sys.argv[1:]
N = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
archive = zipfile.ZipFile(path)
assert archive.testzip() is None
names = [sheet.get("name") for sheet in xml.fromstring(archive.read("xl/workbook.xml")).iter(N + "sheet")]


def text(element):
    value = "".join(t.text or "" for t in element.iter(N + "t"))
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m[1], 16)), value)


def column(reference):
    number = 0
    for letter in re.match("[A-Z]+", reference)[0]:
        number = number * 26 + ord(letter) - 64
    return number - 1


def rows(index):
    for row in xml.fromstring(archive.read(f"xl/worksheets/sheet{index}.xml")).iter(N + "row"):
        cells = {}
        for cell in row.iter(N + "c"):
            kind, value = cell.get("t"), cell.find(N + "v")
            cells[column(cell.get("r"))] = (
                text(cell) if kind == "inlineStr" else value.text == "1" if kind == "b"
                else (float(value.text), cell.get("s") is not None))
        yield cells


def is_same(cell, value, is_mixed, is_float, is_rounded):
    if isinstance(value, dict) and list(value) == ["$numberLong"] and not is_mixed:
        value = int(value["$numberLong"])
    if is_mixed:
        return cell is None if value is None else json.loads(cell) == value
    if value is None or value == "":
        return cell is None
    if isinstance(value, bool):
        return cell is value
    if isinstance(cell, str):
        # Whole numbers are text in a column with one that a double cannot hold; others where a sheet has no such number.
        if isinstance(value, int):
            return int(cell) == value
        if isinstance(value, float):
            return float(cell) == value and float("%.16G" % value) == float("inf")
        if isinstance(value, dict) and list(value) == ["$numberDouble"]:
            return cell == value["$numberDouble"]
        if isinstance(value, str):
            return cell == value
        return json.loads(cell) == value
    if cell is None or isinstance(cell, bool):
        return False
    number, is_date = cell
    if is_date:
        moment = datetime.datetime(1899, 12, 30) + datetime.timedelta(milliseconds=round(number * 86400000))
        wanted = datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", value.rstrip("Z")))
        return moment == wanted or is_rounded and abs(moment - wanted) <= datetime.timedelta(microseconds=501)
    if isinstance(value, int):
        return number == value
    return isinstance(value, float) and (
        number == value or is_rounded and number == float("%.16G" % value) or is_float and struct.pack("f", number) == struct.pack("f", value))


# The reports on columns that cannot keep their values.
notes = open(path + ".notes").read() if os.path.exists(path + ".notes") else ""
info = json.loads(subprocess.check_output([realmfs, "info", "--long", "--json", *options, realm]))
classes = [c["name"] for c in info["classes"] if c["kind"] != "embedded"]
cells = 0
assert len(names) == len(classes) or not classes, (names, classes)
for index, name in enumerate(classes):
    class_name, kinds = name, {}
    lines = subprocess.check_output([realmfs, "cat", "--format", "jsonl", *options, realm, name]).split(b"\n")[:-1]
    sheet = rows(index + 1)
    types = {p["name"]: p["type"] for c in info["classes"] if c["name"] == name for p in c["properties"]}
    head = next(sheet)
    properties = [head.get(i, "") for i in range(len(head))]
    for line, row in zip(lines, sheet, strict=True):
        found = json.loads(line, parse_constant=lambda _: None)
        for position, name in enumerate(properties):
            if name == "$key" and name not in found:
                continue
            cells += 1
            # A column has one type: numbers, booleans, dates or text.
            cell, type_name = row.get(position), types.get(name, "")
            if cell is not None and not re.match("mixed|double|float", type_name):
                kind = "text" if isinstance(cell, str) else "bool" if isinstance(cell, bool) else f"number, date {cell[1]}"
                if kinds.setdefault(name, kind) != kind:
                    sys.exit(f"{names[index]}: {name} has cells of several types: {kinds[name]}, and {cell!r}")
            is_rounded = f"{class_name}.{name}: " in notes
            if not is_same(cell, found[name], type_name == "mixed", "float" in type_name, is_rounded):
                sys.exit(f"{names[index]} {properties[0]} {row.get(0)}: {name}: {row.get(position)!r} for {found[name]!r}")
print(cells)
