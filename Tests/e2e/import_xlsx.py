# Writes spreadsheets as other programs do, and damaged ones: import_xlsx.py FOLDER
import io, os, random, struct, sys, zipfile, zlib

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def parts(sheets, strings="", styles=True, properties="", prefix=""):
    """The parts of a workbook; `sheets` has the content of sheetData by name."""
    result = {
        "[Content_Types].xml": '<?xml version="1.0"?><Types/>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="a" Type="{RELATION}/officeDocument" Target="/xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<?xml version="1.0" encoding="UTF-8"?>\n<workbook {MAIN} xmlns:r="{RELATION}">{properties}<sheets>'
        + "".join(f'<sheet name="{name}" sheetId="{i + 1}" r:id="rId{i + 1}"/>' for i, name in enumerate(sheets)) + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">'
        + "".join(f'<Relationship Id="rId{i + 1}" Type="{RELATION}/worksheet" Target="worksheets/sheet{i + 1}.xml"/>' for i in range(len(sheets)))
        + f'<Relationship Id="s" Type="{RELATION}/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="t" Type="{RELATION}/styles" Target="styles.xml"/></Relationships>',
        "xl/sharedStrings.xml": f"<sst {MAIN}>{strings}</sst>",
        "xl/styles.xml": f'<styleSheet {MAIN}><numFmts><numFmt numFmtId="164" formatCode="[$-409]d\\-mmm\\-yy;@"/><numFmt numFmtId="165" formatCode="[h]:mm"/>'
        '<numFmt numFmtId="166" formatCode="0.00&quot; days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/></cellXfs></styleSheet>',
    }
    for i, rows in enumerate(sheets.values()):
        result[f"xl/worksheets/sheet{i + 1}.xml"] = f"<worksheet {MAIN}><dimension ref=\"A1\"/><sheetData>{rows}</sheetData></worksheet>"
    return result


def pack(parts, method=zipfile.ZIP_DEFLATED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return data.getvalue()


def write(name, data):
    with open(f"{folder}/{name}.xlsx", "wb") as file:
        file.write(data)


def rows(*rows):
    """Rows of cells without references, each given as XML, or as text of a header."""
    return "".join("<row>" + "".join(c if c.startswith("<") else f'<c t="inlineStr"><is><t>{c}</t></is></c>' for c in row) + "</row>" for row in rows)


strings = ("<si><t>name</t></si><si><t>born</t></si><si><r><rPr><b/></rPr><t>Größe &amp; </t></r><r><t xml:space=\"preserve\"> _x0041_&#x1D11E;</t></r></si>"
           "<si><t>東京</t><rPh sb=\"0\" eb=\"2\"><t>トウキョウ</t></rPh></si><si><t/></si><si><t xml:space=\"preserve\"> vip </t></si>"
           "<si><t>amount</t></si><si><t>id</t></si><si><t><![CDATA[a,\"<b>\"\n2nd]]></t></si>")
people = ('<row r="2"><c r="A2" t="s"><v>7</v></c><c r="B2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c><c r="D2" t="s"><v>5</v></c><c r="E2" t="s"><v>6</v></c><c r="F2" s="1"/></row>'
          '<row r="3"><c r="A3"><v>1</v></c><c r="B3" t="s"><v>2</v></c><c r="C3" s="1"><v>45413</v></c><c r="D3" t="b"><v>1</v></c><c r="E3"><v>0.30000000000000004</v></c></row>'
          '<row r="4"/><row r="5" spans="1:5"><c r="A5" t="n"><f>A3+1</f><v>2</v></c><c r="B5" t="s"><v>3</v></c><c r="C5" s="2"><v>45413.416666666664</v></c><c r="E5" s="5"><v>-1.5E-3</v></c></row>'
          '<row r="7"><c r="A7"><v>3.0</v></c><c r="B7" t="s"><v>4</v></c><c r="C7" s="3"><v>1</v></c><c r="D7" t="b"><v>0</v></c></row>'
          '<row r="8"><c r="A8"><v>1E+3</v></c><c r="B8" t="str"><f>T(1)</f><v>sum</v></c><c r="C8" t="d"><v>2024-05-01T10:00:00</v></c><c r="E8"><v>12</v></c></row>'
          '<row r="9"><c r="A9"><v>5</v></c><c r="B9" t="s"><v>8</v></c></row>')
pet = rows(["name", "owner"], ['<c t="inlineStr"><is><t>Rex</t></is></c>', "<c><v>1</v></c>"])
book = parts({"Person": people, "pet": pet, "Sheet3": ""}, strings)
write("book", pack(book))
write("stored", pack(book, zipfile.ZIP_STORED))
write("mac", pack(parts({"Person": rows(["id", "born"], ["<c><v>1</v></c>", '<c s="1"><v>43951.5</v></c>'])}, properties='<workbookPr date1904="1"/>')))
prefixed = {name: text.replace("<row", "<x:row").replace("</row", "</x:row").replace("<c ", "<x:c ").replace("<c>", "<x:c>").replace("</c>", "</x:c>") for name, text in book.items()}
write("prefixed", pack(prefixed))
write("alone", pack(parts({"Sheet1": rows(["name"], ["Ace"], ["Bo"])})))


def sheet(name, text, **options):
    write(name, pack(parts({"Person": text}, **options)))


def cell(text):
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


# Numbers as Excel stores them, lines as XML ends them, and text that consists of spaces.
write("values", pack(parts({
    "Value": rows(["key", "price", "size"], ["<c><v>1.1000000000000001</v></c>", "<c><v>19.989999999999998</v></c>", "<c><v>0.30000000000000004</v></c>"],
                  ["<c><v>2.5</v></c>", "<c><v>-1.1000000000000001E-3</v></c>", "<c><v>1.1000000000000001</v></c>"],
                  ["<c><v>1234567890123456</v></c>", "<c><v>100</v></c>", "<c><v>1</v></c>"]),
    "Line": rows(["text"], [cell("a\r\nb\rc\n")], [cell("d&#13;&#10;<![CDATA[e\r\nf]]>")], [cell("  ")], [cell("")], [cell("\t")])})))
sheet("formula", rows(["id", "amount"], ["<c><v>1</v></c>", "<c><f>A2*2</f><v></v></c>"]))
sheet("formula2", rows(["id", "amount"], ["<c><v>1</v></c>", "<c><f>A2*2</f></c>"]))
sheet("omitted", rows(["id", "name"], ["<c><v>1</v></c>", cell("[left out: 40000 characters]")]))
again = parts({"Person": "", "pet": ""})
again["xl/_rels/workbook.xml.rels"] = again["xl/_rels/workbook.xml.rels"].replace("sheet2.xml", "sheet1.xml")
write("again", pack(again))
many = parts({"Person": ""})
many["xl/_rels/workbook.xml.rels"] = many["xl/_rels/workbook.xml.rels"].replace("<Relationship ", '<Relationship Id="x" Type="x" Target="x"/>' * 10_001 + "<Relationship ", 1)
write("many", pack(many))

sheet("error", '<row r="1"><c r="A1" t="inlineStr"><is><t>id</t></is></c></row><row r="2"><c r="A2" t="e"><v>#DIV/0!</v></c></row>')
sheet("extra", rows(["id"], ["<c><v>1</v></c>", "<c><v>7</v></c>"]))
sheet("type", rows(["id", "amount"], ["<c><v>1</v></c>", "<c><v>2</v></c>"], ["<c><v>2</v></c>", "many"]))
sheet("name", rows(["id", "amuont"], ["<c><v>1</v></c>"]))
sheet("order", '<row r="1"><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>')
sheet("rows", '<row r="5"/><row r="4"/>')
sheet("far", '<row r="1"><c r="ZZZZZZZZZZ1"><v>1</v></c></row>')
sheet("index", '<row r="1"><c r="A1" t="s"><v>99999999999999999999</v></c></row>')
sheet("february", rows(["id", "born"], ["<c><v>1</v></c>", '<c s="1"><v>60.5</v></c>']))
sheet("open", "<row><c>")
sheet("deep", "<a>" * 100000)
sheet("doctype", "")
bad = parts({"Person": ""})
bad["xl/worksheets/sheet1.xml"] = '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa">]><worksheet>&a;</worksheet>'
write("doctype", pack(bad))
bad = parts({"Person": ""})
bad["xl/worksheets/sheet1.xml"] = b"<worksheet><sheetData><row><c t=\"inlineStr\"><is><t>\xff\xfe</t></is></c></row></sheetData></worksheet>"
write("bytes", pack(bad))
bad = parts({"Person": "<row><c t=\"inlineStr\"><is><t>" + "x" * (2 << 20) + "</t></is></c></row>"})
write("long", pack(bad))
# A small file whose sheet expands to 200 MB of one text.
bad = parts({"Person": ""})
bad["xl/worksheets/sheet1.xml"] = "<worksheet><sheetData><row><c><v>" + "1" * 200_000_000
write("bomb", pack(bad))
bad = parts({"Person": ""})
del bad["xl/worksheets/sheet1.xml"]
write("missing", pack(bad))
write("nothing", pack({"a.txt": "text"}))

data = pack(book)
write("cut", data[: len(data) // 2])
write("shorter", data[:-30])
write("old", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000))
write("text", b"name,owner\n")
write("empty", b"")


def directory(data):
    end = data.rindex(b"PK\5\6")
    count, length, start = struct.unpack("<HII", data[end + 10: end + 20])
    places, place = [], start
    for _ in range(count):
        places.append(place)
        a, b, c = struct.unpack("<HHH", data[place + 28: place + 34])
        place += 46 + a + b + c
    return places


def change(name, offset, value):
    changed = bytearray(data)
    for place in directory(data):
        if b"sheet1.xml" in changed[place: place + 100]:
            changed[place + offset: place + offset + len(value)] = value
            break
    write(name, bytes(changed))


change("overlap", 42, struct.pack("<I", 0))
change("larger", 24, struct.pack("<I", 5))
change("smaller", 24, struct.pack("<I", 1 << 20))
change("encrypted", 8, b"\1\0")
change("method", 10, b"\x0c\0")
change("outside", 20, struct.pack("<I", 1 << 30))
change("checksum", 16, b"abcd")
# Two entries with one body.
twice = bytearray(data)
a, b = directory(data)[:2]
twice[b + 42: b + 46] = twice[a + 42: a + 46]
write("same", bytes(twice))

random.seed(int(os.environ.get("SEED", "1")))
count = int(os.environ.get("MUTANTS", "60"))
for number in range(count):
    if number % 3 == 0:
        mutant = bytearray(random.choice([data, pack(book, zipfile.ZIP_STORED)]))
        for _ in range(random.randrange(1, 5)):
            mutant[random.randrange(len(mutant))] = random.randrange(256)
        write(f"mutant{number}", bytes(mutant))
        continue
    mutant = {name: bytearray(text.encode()) for name, text in book.items()}
    for _ in range(random.randrange(1, 6)):
        text = mutant[random.choice(list(mutant))]
        place = random.randrange(len(text))
        kind = random.randrange(4)
        if kind == 0:
            text[place] = random.choice(b"<>/&;\"'=! \0\xff0123456789aAr:")
        elif kind == 1:
            del text[place: place + random.randrange(1, 30)]
        elif kind == 2:
            text[place:place] = text[random.randrange(len(text)):][: random.randrange(1, 60)]
        else:
            text[place:place] = random.choice([b"<![CDATA[", b"<!--", b"&#x0;", b"&#xD800;", b"9" * 40, b"<row>", b"</c>", b"]]>"])
    write(f"mutant{number}", pack({name: bytes(text) for name, text in mutant.items()}))
