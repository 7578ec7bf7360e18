"""Tests of the page that `realmfs browse` serves, in a real browser. run.sh starts them."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from webdriver import Browser, Failure, end_group, wait_until

REALMFS = os.environ["REALMFS"]
# Debug builds import slowly.
ROWS = int(os.environ.get("BROWSER_ROWS", 100_000 if "/debug/" in REALMFS else 1_000_000))
PEOPLE = 300
CLASSES = 30

scratch = tempfile.mkdtemp(prefix="realmfs-browser.")
os.environ["XDG_STATE_HOME"] = os.path.join(scratch, "state")

SCRIPT = "<script>window.attacked = 1</script>"
IMAGE = "\"><img src=x onerror='window.attacked = 2'>"
REVERSED = "invoice\u202efdp.exe"
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC")


def realmfs(*arguments, text=None):
    """Runs a realmfs command and returns its output."""
    result = subprocess.run([REALMFS, *arguments], input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        raise Failure(f"realmfs {' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout


def make_realm(name, schema, objects):
    path = os.path.join(scratch, name)
    realmfs("create", path, "--schema", "-", text=json.dumps(schema))
    source = os.path.join(scratch, f"{name}.jsonl")
    with open(source, "w", encoding="utf-8") as file:
        for found in objects:
            file.write(json.dumps(found) + "\n")
    realmfs("import", path, source)
    os.remove(source)
    return path


def link(target):
    return {"type": "object", "objectType": target, "optional": True}


def make_people(name):
    schema = [
        {"name": "Person", "primaryKey": "_id", "properties": {
            "_id": "int", "name": "string", "age": "int", "city": {"type": "string", "optional": True, "indexed": True},
            "dog": link("Dog"), "friends": {"type": "list", "objectType": "Person"}, "big": "int", "born": "date",
            "photo": {"type": "data", "optional": True}, "address": link("Address"),
        }},
        {"name": "Dog", "primaryKey": "_id", "properties": {"_id": "string", "breed": "string"}},
        {"name": "Address", "embedded": True, "properties": {"street": "string"}},
    ]
    dogs = [{"$class": "Dog", "_id": f"dog {number}", "breed": "Collie"} for number in range(10)]
    people = [{
        "$class": "Person", "_id": number, "name": f"Name {number}", "age": number % 90,
        "city": ["Oslo", "Rome", "Lima"][number % 3], "dog": f"dog {number % 10}", "friends": [0, 1, 2],
        "big": {"$numberLong": str(2 ** 53 + 1 + number)}, "born": "2001-02-03T04:05:06Z",
        "photo": PNG if number == 0 else None, "address": {"street": f"{number} High Street"},
    } for number in range(PEOPLE)]
    return make_realm(name, schema, dogs + people)


def make_rows():
    schema = [{"name": "Row", "properties": {"n": "int"}}]
    return make_realm("rows.realm", schema, ({"$class": "Row", "n": number} for number in range(ROWS)))


def make_hostile():
    schema = [{"name": SCRIPT, "primaryKey": "_id", "properties": {
        "_id": "string", IMAGE: "string", REVERSED: "string", "__proto__": "string", "constructor": "string",
        "long": "string", "self": link(SCRIPT)}}]
    values = [SCRIPT, IMAGE, REVERSED, "\u0000\u0007\u001b[31m", "javascript:alert(1)", "\u2066\u2069\u200b"]
    objects = [{
        "$class": SCRIPT, "_id": f"{value}{number}", IMAGE: value, REVERSED: value, "__proto__": value,
        "constructor": value, "long": value + "x" * (0 if number else 1_000_000), "self": f"{value}{number}",
    } for number, value in enumerate(values)]
    return make_realm("hostile.realm", schema, objects)


def make_classes():
    """Classes with links of all kinds: chains, a star, cycles, links to themselves, and classes without links."""
    schema = []
    for number in range(CLASSES):
        properties = {"_id": "int", **{f"p{index}": "string" for index in range(number % 7)}}
        if number % 5:
            properties |= {"next": link(f"C{(number + 1) % CLASSES}"), "hub": link("C7")}
        if number % 4 == 1:
            properties |= {"self": link(f"C{number}"), "back": {"type": "list", "objectType": f"C{number // 2}"}}
        schema.append({"name": f"C{number}", "primaryKey": "_id", "properties": properties})
    return make_realm("classes.realm", schema, [])


class Server:
    """`realmfs browse`, with the URL that it printed."""

    def __init__(self, *arguments):
        self.log = open(os.path.join(scratch, "server.log"), "ab")
        self.process = subprocess.Popen([REALMFS, "browse", *arguments], stdout=subprocess.PIPE, stderr=self.log,
                                        text=True, start_new_session=True)
        # The server prints one line in one write, so any output is a complete line.
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        self.url = self.process.stdout.readline().strip() if ready else ""
        if not re.match(r"http://127\.0\.0\.1:\d+/\?token=", self.url):
            end_group(self.process)
            raise Failure(f"realmfs browse printed '{self.url}'")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            end_group(self.process)
        self.process.stdout.close()
        self.log.close()

    def wait(self):
        return self.process.wait(60)


failed = []
passed = []


def expect(condition, what):
    """Records a result and continues, so that one run reports everything."""
    (passed if condition else failed).append(what)
    print(f"{'ok' if condition else 'not ok'} - {what}", flush=True)


def equal(found, expected, what):
    expect(found == expected, what if found == expected else f"{what}: expected {expected!r}, found {found!r}")


FIRST = "document.querySelector('.rows > .row[data-row=\"0\"] .cell')?.textContent"
CELL = "document.querySelector(`.rows > .row[data-row=\"${arguments[0]}\"] .cell[data-column=\"${arguments[1]}\"]`)"
COUNT = "document.getElementById('table-count').textContent"
QUERY = "document.getElementById('query')"


def load(page, server, fragment=""):
    # The former page may still report the end of its server.
    page.open("about:blank")
    page.errors()
    page.open(server.url + fragment)
    page.until("document.getElementById('live')?.dataset.state === 'live' && document.querySelector('#class-list a')",
               "the page is live")


def go(page, fragment):
    """Changes the address, like a user in the address bar."""
    page.js("location.hash = arguments[0]", fragment)
    page.until("location.hash === arguments[0]", "the address", fragment)


def first_row(page, text, what="the first row"):
    page.until(f"{FIRST} === arguments[0]", what, text)


def query(page, text):
    page.js(f"{QUERY}.focus(); {QUERY}.select()")
    page.keys("Backspace", text, "Enter")


def test_loading(page):
    with Server(people) as server:
        load(page, server, "#/Person")
        first_row(page, "0")
        equal(page.js("return [...document.querySelectorAll('#class-list a')].map((a) => a.textContent)"),
              ["Dog10", f"Person{PEOPLE}", f"Addressembedded{PEOPLE}"], "classes and their counts are listed")
        page.until("!location.href.includes('token') && !location.href.includes('key')", "the address without secrets")
        expect(True, "token and key are not in the address after the first load")
        page.js("document.getElementById('grid').scrollLeft = 800")
        page.until(f"{CELL}", "the column of large integers", 0, 6)
        left = "document.querySelector(arguments[0]).getBoundingClientRect().left"
        place = page.js(f"return {left}", "#grid")
        equal(page.js(f"return {left}", ".rows .gutter"), place, "row numbers stay in view")
        equal(page.js(f"return {CELL}.textContent", 0, 6), "9007199254740993", "a large integer keeps its digits")
        page.click("#columns")
        page.js("const labels = [...document.querySelectorAll('.popup label')];"
                "labels.find((l) => l.textContent.includes('age')).control.click()")
        page.keys("Escape")
        page.js("location.reload()")
        heads = "[...document.querySelectorAll('.column .label')].map((l) => l.textContent).join()"
        page.until(f"{heads}.startsWith('_id,name,city')", "the columns after a reload")
        expect(True, "a hidden column stays hidden")
        equal(page.js("return document.querySelectorAll('#create:not([hidden]), #object input').length"), 0,
              "a read-only realm offers no edits")
        page.js("document.getElementById('class-filter').focus()")
        page.keys("dog")
        page.until("document.querySelectorAll('#class-list a').length === 1", "the filter")
        equal(page.js("return document.querySelector('#class-list a').dataset.cls"), "Dog", "the filter finds a class")
        equal(page.errors(), [], "no errors in the console")
    with Server(people, "Person", "age == 7") as server:
        load(page, server)
        first_row(page, "7")
        equal(page.js(f"return {QUERY}.value"), "age == 7", "class and query of the command are shown")


def test_scrolling(page):
    with Server(make_rows()) as server:
        load(page, server, "#/Row")
        first_row(page, "0")
        page.js("document.getElementById('grid').focus()")
        page.keys("Control+End")
        last = f"document.querySelector('.rows > .row[data-row=\"{ROWS - 1}\"]')"
        page.until(f"{last}?.querySelector('.cell')?.textContent === '{ROWS - 1}'", "the last row")
        expect(page.js(f"const r = {last}.getBoundingClientRect(), g = document.getElementById('grid');"
                       "const b = g.getBoundingClientRect().top + g.clientHeight; return Math.abs(r.bottom - b) <= 1"),
               f"the last of {ROWS} rows ends at the end of the view")
        number = page.js("return document.querySelectorAll('.rows > .row').length")
        expect(number < 100, f"only rows in view are elements: {number}")
        equal(page.js("return document.getElementById('grid').getAttribute('aria-rowcount')"), str(ROWS + 1),
              "the grid has the number of rows")
        page.js("document.getElementById('grid').scrollTop = 0")
        first_row(page, "0", "the first row after the last")
        page.js("const g = document.getElementById('grid'); g.scrollTop = g.scrollHeight")
        page.until(f"{last}?.querySelector('.cell')?.textContent === '{ROWS - 1}'", "the last row by the scroll bar")
        page.keys("PageUp", "PageUp", "PageUp", "PageUp")
        page.until("document.querySelector('.cell.active')?.textContent", "the active cell after moving up")
        rows = "[...document.querySelectorAll('.rows > .row')]"
        filled = f"{rows}.length > 5 && {rows}.every((r) => r.querySelector('.cell').textContent === r.dataset.row)"
        page.until(filled, "all rows are filled")
        expect(True, "each row in view has the object of its position")
        page.js("document.getElementById('grid').scrollTop = document.getElementById('grid').scrollHeight / 2")
        page.until(filled, "rows in the middle")
        page.keys("Control+Home")
        first_row(page, "0", "the first row by the keyboard")
        expect(True, "to the end, to the middle and back by scroll bar and keyboard")
        equal(page.errors(), [], "no errors in the console")


def test_querying(page):
    with Server(people) as server:
        load(page, server, "#/Person")
        first_row(page, "0")
        page.click(".column[data-column='1'] .label")
        page.click(".column[data-column='1'] .label")
        page.until(f"{CELL}?.textContent === 'Name 99'", "the greatest name", 0, 1)
        equal(page.js("return document.querySelector('[aria-sort]').textContent.slice(0, 4)"), "name",
              "the head of the sorted column is marked")
        expect("sort=-name" in page.js("return location.hash"), "the address has the order")
        query(page, "age > 50 AND city == \"Rome\"")
        wanted = sum(1 for number in range(PEOPLE) if number % 90 > 50 and number % 3 == 1)
        page.until(f"{COUNT} === arguments[0]", "the count of a query", f"{wanted} of {PEOPLE} objects")
        expect(True, "a query filters and counts")
        page.js("history.back()")
        page.until(f"{COUNT} === arguments[0]", "the way back from a query", f"{PEOPLE} objects")
        equal(page.js(f"return {QUERY}.value"), "", "the way back empties the query line")
        page.errors()

        query(page, "age > 3 AND nme == 4")
        page.until("!document.getElementById('query-error').hidden", "the error of a query")
        reason = page.js("return document.getElementById('query-error').textContent")
        expect("nme" in reason, "a wrong query has its reason")
        column = page.js(
            f"const q = {QUERY}, s = getComputedStyle(q), c = document.createElement('canvas').getContext('2d');"
            "c.font = s.font; const width = c.measureText('x').width;"
            "const left = document.querySelector('.mark').getBoundingClientRect().left;"
            "return (left - q.getBoundingClientRect().left - parseFloat(s.paddingLeft)) / width")
        equal(round(column), 12, "the error is under its column")
        equal(page.js(f"return {QUERY}.getAttribute('aria-invalid')"), "true", "the query line is marked as invalid")

        page.js(f"{QUERY}.value = ''; {QUERY}.focus()")
        page.keys("dog.br")
        page.until("document.querySelector('#completions li')?.textContent.startsWith('dog.breed')", "a completed path")
        page.keys("Tab", "BEG", "Tab", "\"Col\"", "Enter")
        page.until(f"{QUERY}.value === 'dog.breed BEGINSWITH \"Col\"'", "completion of an operator")
        page.until(f"{COUNT} === arguments[0]", "the result", f"{PEOPLE} of {PEOPLE} objects")
        expect(True, "properties behind links and operators are completed")

        page.click("#clear-query")
        first_row(page, "99", "the first row in the order of names")
        page.js("document.getElementById('grid').focus()")
        page.keys("Control+Home", "Right", "Right", "Right", "m")
        page.until("document.querySelector('.popup button')", "the menu of a column")
        page.keys("Down", "Down", "Enter")
        page.until("document.querySelectorAll('.facets button').length === 3", "the values of a column")
        equal(page.js("return document.querySelector('.facets button').textContent"), f"Oslo{PEOPLE // 3}",
              "the values of a property are counted")
        page.keys("Enter")
        page.until(f"{QUERY}.value === 'city == \"Oslo\"' && {COUNT} === arguments[0]", "a value as a query",
                   f"{PEOPLE // 3} of {PEOPLE} objects")
        expect(True, "a value becomes a query")

        page.js("document.getElementById('search').focus()")
        page.keys("name 299", "Enter")
        page.until("document.querySelectorAll('.hits a').length === 1", "hits of a search")
        page.click(".hits a")
        page.until("document.querySelector('#object h2')?.textContent === '299'", "the object of a hit")
        expect(True, "a text is found in all classes")


def test_links(page):
    with Server(people) as server:
        load(page, server, "#/Person")
        first_row(page, "0")
        page.js("document.getElementById('grid').scrollTop = 2800")
        page.until(f"{CELL}?.querySelector('a')", "a link in row 104", 104, 4)
        top = page.js("return document.getElementById('grid').scrollTop")
        page.click(".row[data-row='104'] .cell[data-column='4'] a")
        page.until("document.querySelector('#object h2')?.textContent === 'dog 4'", "the object of a link")
        page.until("document.getElementById('table-title').textContent === 'Dog'", "the class of the link")
        equal(page.js("return document.getElementById('tab-links').textContent"), f"Linked from {PEOPLE // 10}",
              "links to the object are counted")
        page.click("#tab-links")
        page.until(f"document.querySelectorAll('#object .links a').length === {PEOPLE // 10}", "links to the object")
        page.js("history.back()")
        page.until(f"document.getElementById('object').hidden && {CELL}?.textContent === '104'", "the way back", 104, 0)
        equal(page.js("return document.getElementById('grid').scrollTop"), top, "the way back keeps the place")
        page.js("history.forward()")
        page.until("document.querySelector('#object h2')?.textContent === 'dog 4'", "the way forward")
        expect(True, "a link is followed, back and forward")

        go(page, "#/Person/0")
        page.click("#tab-form")
        page.until("document.querySelector('#object .blob img')?.naturalWidth === 10", "the image in a binary")
        expect(True, "an image in a binary is shown")
        page.until("document.querySelector('#object time')?.title.includes('2001-02-03T04:05:06Z')", "a date")
        equal(page.js("return document.querySelector('#object time').textContent"),
              page.js("const d = new Date('2001-02-03T04:05:06Z'), t = (n) => String(n).padStart(2, '0');"
                      "return `${d.getFullYear()}-${t(d.getMonth() + 1)}-${t(d.getDate())} "
                      "${t(d.getHours())}:${t(d.getMinutes())}:${t(d.getSeconds())}`"), "a date is in local time")
        text = page.js("return document.getElementById('object').textContent")
        expect("0 High Street" in text, "embedded objects unfold")
        page.js("for (const fold of document.querySelectorAll('#object details')) fold.open = true")
        page.until("document.querySelectorAll('#object .fold a.link').length === 3", "the list unfolds")
        page.js("document.querySelectorAll('#object .fold a.link')[2].click()")
        page.until("document.querySelector('#object h2')?.textContent === '2'", "a link in a list")
        expect(True, "a link in a list is followed")
        page.keys("Escape")
        page.until("document.getElementById('object').hidden", "the object is closed by Esc")
        expect(True, "Esc closes the object")
        equal(page.errors(), [], "no errors in the console")


def stored(path, name, key="3", cls="Person"):
    return json.loads(realmfs("cat", path, f"{cls}/{key}.json"))[name]


FIELD = "[...document.querySelectorAll('#object label')].find((l) => l.firstChild.textContent === arguments[0])"
# Waits until no pending response can redraw the object during typing.
SETTLED = "document.querySelector('#object[aria-busy=false]')"


def type_into(page, field, text):
    """Replaces the text of the form's field with that label."""
    page.until(f"{SETTLED} && {FIELD}", f"the field {field}", field)
    page.js(f"const {{ control }} = {FIELD}; control.focus(); control.select()", field)
    page.keys("Backspace", text)


def test_editing(page):
    path = make_people("edited.realm")
    with Server("--write", path) as server:
        load(page, server, "#/Person/3")
        type_into(page, "name", "Ada <b>")
        page.click("#review")
        page.until("document.querySelector('dialog .to')?.textContent === 'Ada <b>'", "the preview")
        equal(page.js("return document.querySelector('dialog .from').textContent"), "Name 3", "a preview of the change")
        equal(stored(path, "name"), "Name 3", "a preview changes nothing")
        page.click("dialog .primary")
        page.until("!document.querySelector('dialog')", "the dialog closes")
        equal(stored(path, "name"), "Ada <b>", "an edit is saved")
        page.until(f"{CELL}?.textContent === 'Ada <b>'", "the row of a saved object", 3, 1)
        page.click("#undo")
        wait_until(lambda: stored(path, "name") == "Name 3", "undo")
        page.until(f"{CELL}?.textContent === 'Name 3'", "the row after undo", 3, 1)
        page.until("document.getElementById('undo').hidden", "the end of undo")
        page.until(f"{SETTLED} && {FIELD}?.control.value === arguments[1]", "the form after undo", "name", "Name 3")
        expect(True, "an edit is undone")

        type_into(page, "big", "9007199254740995")
        page.click("#review")
        page.until("document.querySelector('dialog .to')?.textContent === '9007199254740995'", "a large integer")
        equal(page.js("return document.querySelector('dialog .from').textContent"), str(2 ** 53 + 4),
              "a large integer is edited with all digits")
        page.keys("Escape")
        page.until("!document.querySelector('dialog')", "the dialog closes")
        page.click("#save-bar .actions button")
        page.until(f"{SETTLED} && document.getElementById('save-bar')?.hidden", "discarding a large integer")

        type_into(page, "age", "many")
        page.click("#review")
        page.until("document.getElementById('save-problem')?.checkVisibility()", "the reason of a refusal")
        reason = page.js("return document.getElementById('save-problem').textContent")
        expect("age" in reason, "a refusal has its reason")
        equal(stored(path, "age"), 3, "a refused edit changes nothing")
        page.click("#save-bar .actions button")
        page.until(f"{SETTLED} && document.getElementById('save-bar')?.hidden", "discarding")

        page.click("#tab-json")
        page.until("document.querySelector('textarea.json')", "the JSON of the object")
        page.js("const t = document.querySelector('textarea.json'); t.focus();"
                "const at = t.value.indexOf('\"age\": 3') + 7; t.setSelectionRange(at, at + 1)")
        page.keys("44")
        page.js("const t = document.querySelector('textarea.json');"
                "t.value = t.value.replace(/\"big\": \\{[^}]*\\}/, '\"big\": 9007199254740999');"
                "t.dispatchEvent(new Event('input'))")
        # Another program changes another property meanwhile.
        realmfs("set", path, "Person/3", "name=Meanwhile")
        page.until("document.getElementById('object-notice')?.checkVisibility()", "the notice of another change")
        page.click("#review")
        page.until("document.querySelectorAll('dialog .to').length === 2", "the preview of an edited text")
        page.click("dialog .primary")
        page.until("!document.querySelector('dialog')", "the dialog closes")
        equal((stored(path, "age"), stored(path, "name"), stored(path, "big")),
              (44, "Meanwhile", {"$numberLong": "9007199254740999"}),
              "an edited text changes only what differs, and numbers keep all digits")

        go(page, "#/Dog/3")
        page.until("document.querySelector('#object h2')?.textContent === 'dog 3'", "the dog")
        page.click("#object .heading .danger")
        page.until("document.querySelector('dialog .danger')", "the question")
        expect(f"{PEOPLE // 10} links" in page.js("return document.querySelector('dialog').textContent"),
               "links that would be cut are counted")
        page.click("dialog .danger")
        page.until("document.getElementById('object').hidden", "the object is deleted")
        equal((stored(path, "dog"), "dog 3" in realmfs("cat", path, "Dog")), (None, False), "an object is deleted")
        page.click("#undo")
        wait_until(lambda: stored(path, "dog") == "dog 3", "undo of the deletion")
        page.until(f"{CELL}?.textContent === 'dog 3' && !document.querySelector('.row.deleted')", "the row", 3, 0)
        expect(True, "a deletion is undone, with the links")

        page.click("#create")
        page.until("document.querySelector('dialog textarea')", "the new object")
        page.js("document.querySelector('dialog textarea').select()")
        page.keys("{\"_id\": \"Rex\", \"breed\": \"Pug\"}")
        page.click("dialog .primary")
        page.until("document.querySelector('#object h2')?.textContent === 'Rex'", "the created object")
        equal(stored(path, "breed", "Rex", "Dog"), "Pug", "an object is created")
        realmfs("check", path)
        # The only errors are those of the refusal.
        equal([line for line in page.errors() if "400" not in line], [], "no other errors in the console")


def test_live(page):
    path = make_people("live.realm")
    with Server(path) as server:
        load(page, server, "#/Person")
        first_row(page, "0")
        page.js("document.getElementById('grid').scrollTop = 2800")
        page.until(f"{CELL}?.textContent === '105'", "row 105", 105, 0)
        page.click(".row[data-row='105'] .cell[data-column='1']")
        page.until("document.querySelector('#object h2')?.textContent === '105'", "object 105")
        page.js("window.marked = false; new MutationObserver(() => {"
                "window.marked ||= Boolean(document.querySelector('.row[data-row=\"106\"].changed')); })"
                ".observe(document.querySelector('.rows'), { subtree: true, attributes: true })")
        realmfs("set", path, "Person/106", "name=Changed elsewhere")
        page.until(f"{CELL}?.textContent === 'Changed elsewhere'", "the change of another program", 106, 1)
        page.until("window.marked", "the mark")
        expect(True, "a change of another program is shown and marked")
        place = "[document.getElementById('grid').scrollTop, document.querySelector('.selected')?.dataset.row]"
        equal(page.js(f"return {place}"), [2800, "105"], "it keeps scroll position and selection")
        realmfs("set", path, "Person/105", "name=Selected")
        page.until("document.getElementById('object').textContent.includes('Selected')", "the object view follows")
        expect(True, "the object view follows")
        page.js("window.struck = ''; new MutationObserver(() => {"
                "const cell = document.querySelector('.row[data-row=\"107\"].deleted .cell');"
                "if (cell) window.struck ||= getComputedStyle(cell).textDecorationLine; })"
                ".observe(document.querySelector('.rows'), { subtree: true, attributes: true })")
        realmfs("delete", path, "Person/107")
        page.until("window.struck", "the deleted row")
        expect("line-through" in page.js("return window.struck"), "a deleted row is struck through")
        counted = "document.querySelector('#class-list [data-cls=Person] .count').textContent"
        page.until(f"{counted} === '{PEOPLE - 1}'", "one object less")
        realmfs("insert", path, "Person", "_id=5000", "name=New", "age=1", "big=1", "born=2001-01-01")
        page.until(f"{counted} === '{PEOPLE}'", "one object more")
        page.until(f"!document.querySelector('.deleted') && {CELL}?.textContent === '108'", "the next row", 107, 0)
        page.until(f"{COUNT} === arguments[0]", "the new object is counted", f"{PEOPLE} objects")
        expect(True, "a moment later, deleted rows are gone and new ones there")
        equal(page.js(f"return {place}"), [2800, "105"], "scroll position and selection stay")
        equal(page.errors(), [], "no errors in the console")


def test_hostile(page):
    with Server(make_hostile()) as server:
        load(page, server)
        page.until("document.querySelectorAll('.rows > .row .cell').length > 6", "hostile rows")
        equal(page.js("return document.querySelector('#class-list .name').textContent"), SCRIPT, "a class name is text")
        page.until("document.querySelector('.cell .esc')", "escapes of invisible characters")
        for row in reversed(range(6)):
            page.click(f".row[data-row='{row}'] .cell[data-column='0']")
            page.until("document.querySelector('#object .fields, #object .field')", f"object {row}")
            page.until("document.querySelector('.selected')?.dataset.row === arguments[0]", "the selection", str(row))
        page.until("document.querySelector('#object .field button')", "the button for a long text")
        page.click("#object .field button")
        page.until("document.getElementById('object').textContent.length > 1000000", "a text of 1 MB")
        page.click("#tab-json")
        page.until("document.querySelector('#object pre')", "hostile JSON")
        shown = page.js("return document.body.textContent")
        for character in "\u202e\u0007\u001b\u2066\u200b":
            expect(character not in shown, f"U+{ord(character):04X} is shown as an escape")
        page.click("#columns")
        page.until("document.querySelector('.popup label')", "hostile columns")
        page.keys("Escape")
        page.js("document.getElementById('grid').focus()")
        page.keys("Control+Home", "Right", "m")
        page.until("document.querySelector('.popup')", "a hostile column's menu")
        page.keys("Down", "Down", "Enter")
        page.until("document.querySelector('.facets button')", "hostile values")
        page.keys("Enter")
        page.until(f"{COUNT} === '1 of 6 objects'", "a hostile value as a query")
        expect(True, "hostile names and values can be queried")
        page.js("document.querySelector('.rows a')?.click()")
        page.click("#show-schema")
        page.until("document.querySelector('svg.schema .box')", "a hostile schema")
        go(page, "#/?search=window.attacked")
        page.until("document.querySelector('.hits a')", "hostile hits")
        go(page, "#/" + "%3Cimg%20src%3Dx%20onerror%3D%22window.attacked%3D3%22%3E")
        page.until("document.getElementById('message').textContent.includes('no class')", "a hostile address")
        equal(page.js("return window.attacked ?? null"), None, "no script of the realm runs")
        equal(page.js("return document.querySelectorAll('main img, aside img, nav img, body script').length"), 0,
              "no markup of the realm becomes elements")
        equal(page.errors(), [], "no errors in the console")


# Finds text whose contrast with its background is below 4.5, and controls without a name.
CONTRAST = """
const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return text.startsWith("color(srgb")
  ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1] : [n[0], n[1], n[2], n[3] ?? 1]; };
const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92
  : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const backOf = (element) => { const layers = [];
  for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
  return layers.reduceRight((back, layer) => over(layer, back), [255, 255, 255, 1]); };
const bad = new Set();
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  if (!own || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
  if (element.closest("svg, :disabled, .more")) continue;
  const style = getComputedStyle(element);
  const back = backOf(element);
  const front = over(parse(style.color), back);
  const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  const name = `${element.tagName}.${element.className} '${element.textContent.slice(0, 20)}'`;
  if (ratio < 4.5) bad.add(`${name} ${ratio.toFixed(2)}`);
}
return [...bad];
"""
LABELS = """
const bad = [];
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
for (const id of new Set(ids)) if (ids.filter((x) => x === id).length > 1) bad.push(`id ${id} twice`);
const controls = "button, input, select, textarea, a, [role=grid], [role=region], svg, dialog";
for (const e of document.querySelectorAll(controls)) {
  if (!e.checkVisibility()) continue;
  const by = document.getElementById(e.getAttribute("aria-labelledby"))?.textContent;
  const name = by || e.getAttribute("aria-label") || (e.labels && [...e.labels].map((l) => l.textContent).join(""))
    || (e.matches("button, a, svg") && e.textContent) || "";
  if (!name.trim() && !e.matches("svg")) bad.push(`${e.tagName}#${e.id}.${e.className} has no name`);
}
for (const e of document.querySelectorAll("[aria-controls], [aria-activedescendant], [aria-describedby]")) {
  for (const name of ["aria-activedescendant", "aria-describedby"]) {
    const id = e.getAttribute(name);
    if (id && !document.getElementById(id)) bad.push(`${e.id} refers to ${id}`);
  }
}
for (const e of document.querySelectorAll("img")) if (!e.alt) bad.push("an image without alt");
return bad;
"""


def test_accessibility(page):
    with Server("--write", people) as server:
        load(page, server, "#/Person/0")
        page.until("document.querySelector('#object .field')", "the object")
        for scheme in ("light", "dark"):
            page.scheme(scheme)
            for view in ("#/Person/0", "#/Person?query=nme+%3D%3D+1", "#/?view=schema", "#/?search=name"):
                go(page, view)
                ready = {"#/Person/0": "#object .field", "#/?view=schema": "svg .box", "#/?search=name": ".hits a"}
                page.until("document.querySelector(arguments[0])?.checkVisibility()", view,
                           ready.get(view, "#query-error .mark"))
                equal(page.js(CONTRAST), [], f"contrast of {view}, {scheme}")
                if scheme == "light":
                    equal(page.js(LABELS), [], f"names of controls in {view}")
            go(page, "#/Person/0")
            for opener in ("#columns", "#download", "#show-keys"):
                page.until("document.querySelector('#object .field')?.checkVisibility()", "the object")
                page.click(opener)
                page.until("document.querySelector('.popup, dialog')", opener)
                equal(page.js(CONTRAST) + page.js(LABELS), [], f"contrast and names of {opener}, {scheme}")
                page.keys("Escape")
                page.until("!document.querySelector('.popup, dialog')", f"{opener} closes")
        page.scheme("light")
        page.js("document.activeElement.blur()")
        page.keys("/")
        equal(page.js("return document.activeElement.id"), "query", "/ goes to the query line")
        page.keys("Escape")
        equal(page.js("return document.activeElement.id"), "grid", "Esc goes from there to the table")
        page.keys("Control+Home", "Down", "Right", "Enter")
        page.until("document.querySelector('#object h2')?.textContent === '1'", "the object of the active row")
        active = "document.getElementById('grid').getAttribute('aria-activedescendant')"
        announced = page.js(f"return document.getElementById({active})?.textContent")
        equal(announced, "Name 1", "the active cell is announced")
        page.keys("?")
        page.until("document.querySelector('dialog .keys')", "? shows the keys")
        page.keys("Escape")
        for width, height in ((320, 568), (390, 844), (1280, 800), (3840, 2160)):
            page.resize(width, height)
            views = {"#/": "classes", "#/Person": "table", "#/Person/0": "object", "#/?view=schema": "schema"}
            for view, name in views.items():
                go(page, view)
                page.until("document.body.dataset.view === arguments[0]", view, name)
                if name == "object":
                    page.until("document.querySelector('#object .field')?.checkVisibility()", "the object")
                beyond = page.js("return document.documentElement.scrollWidth - innerWidth")
                equal(beyond, 0, f"{view} fits {width} pixels")
        page.resize(390, 844)
        go(page, "#/")
        page.click("#class-list [data-cls=Person]")
        first_row(page, "0")
        page.click(".row[data-row='0'] .cell")
        page.until("document.querySelector('#object h2')?.checkVisibility()", "the object")
        page.until("!document.getElementById('grid').checkVisibility()", "the object instead of the table")
        page.click("#back")
        page.until("document.getElementById('grid').checkVisibility()", "back to the table")
        page.click("#back")
        page.until("document.getElementById('class-list').checkVisibility()", "back to the classes")
        expect(True, "on a narrow screen, panes are views")
        page.resize(1280, 800)


# Lines that cross a box other than those at their ends.
CROSSINGS = """
const boxes = [...document.querySelectorAll("svg .outline")].map((r) => r.getBBox());
const bad = [];
for (const edge of document.querySelectorAll("svg .edge")) {
  const length = edge.getTotalLength();
  for (let at = 1; at < length - 1; at += 2) {
    const p = edge.getPointAtLength(at);
    if (boxes.some((b) => Math.abs(p.x - b.x - b.width / 2) < b.width / 2 - 0.5
      && Math.abs(p.y - b.y - b.height / 2) < b.height / 2 - 0.5)) {
      bad.push(`${edge.textContent} at ${p.x},${p.y}`);
      break;
    }
  }
}
for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) {
  const isBeside = a.x >= b.x + b.width || b.x >= a.x + a.width;
  if (!isBeside && a.y < b.y + b.height && b.y < a.y + a.height) bad.push("boxes overlap");
}
return bad;
"""


def test_schema(page):
    path = make_classes()
    with Server(path) as server:
        load(page, server, "#/?view=schema")
        page.until("document.querySelectorAll('svg .box').length === arguments[0]", "all classes are boxes", CLASSES)
        schema = json.loads(realmfs("schema", path))["schema"]
        links = sum(1 for cls in schema for kind in cls["properties"].values()
                    if kind.get("objectType", "").startswith("C"))
        equal(page.js("return document.querySelectorAll('svg .edge').length"), links, "all links are lines")
        equal(page.js(CROSSINGS), [], "no line crosses a box, and no boxes overlap")
        page.click("#zoom-fit")
        expect(page.js("const d = document.getElementById('schema-drawing');"
                       "return d.scrollWidth <= d.clientWidth && d.scrollHeight <= d.clientHeight"), "the drawing fits")
        page.js("const click = new MouseEvent('click', { bubbles: true, cancelable: true });"
                "document.querySelector('svg .box').dispatchEvent(click)")
        page.until("!document.getElementById('table-view').hidden", "the class of a box")
        expect(True, "a box leads to its class")


def test_download(page):
    with Server(people) as server:
        load(page, server, "#/Person?query=age+%3C+2+SORT(name+ASC)")
        page.until(f"{COUNT}.includes(' of ')", "the result")
        page.click("#download")
        page.until("document.querySelectorAll('.popup button').length === 5", "the formats")
        page.js("HTMLAnchorElement.prototype.click = function () { window.downloaded = this.href; }")
        for index, name in enumerate(("csv", "jsonl", "json", "xlsx", "sqlite")):
            page.js("window.downloaded = null")
            page.js("if (!document.querySelector('.popup')) document.getElementById('download').click();"
                    "document.querySelectorAll('.popup button')[arguments[0]].click()", index)
            page.until("window.downloaded", "the address of a download")
            # The request of a link has no headers of the page.
            start = page.js("return fetch(window.downloaded).then(async (r) => {"
                            "const text = await r.text();"
                            "if (window.downloaded.includes('jsonl')) window.lines = text;"
                            "return [r.status, text.slice(0, 40)]; })")
            wanted = {"csv": "_id,name", "jsonl": "{", "json": "[", "xlsx": "PK", "sqlite": "SQLite format 3"}[name]
            equal((start[0], start[1].lstrip("\ufeff")[:len(wanted)]), (200, wanted), f"a download as {name}")
        found = [json.loads(line)["_id"] for line in page.js("return window.lines").splitlines()]
        equal(found, [0, 1, 90, 91, 180, 181, 270, 271], "a download has the objects of the query")


def test_versions(page):
    path = make_people("versions.realm")
    realmfs("set", path, "Person/0", "name=Later")
    realmfs("delete", path, "Person/1")
    with Server("--write", path) as server:
        load(page, server, "#/Person")
        page.until(f"{CELL}?.textContent === 'Later'", "the newest version", 0, 1)
        page.click("#show-versions")
        page.until("document.getElementById('slider').checkVisibility()", "the versions")
        equal(page.js(CONTRAST) + page.js(LABELS), [], "contrast and names of the versions")
        page.keys("Left")
        page.until(f"{COUNT} === arguments[0]", "the version before the deletion", f"{PEOPLE} objects")
        page.until(f"{CELL}?.textContent === '1'", "the object that was deleted later", 1, 0)
        page.until("document.getElementById('create').hidden", "the end of edits")
        expect(True, "a former version is shown read-only")
        page.click(".row[data-row='1'] .cell")
        page.until("document.querySelector('#object h2')?.textContent === '1'", "an object of a former version")
        page.click("#newest")
        page.until(f"{COUNT} === arguments[0]", "the newest version again", f"{PEOPLE - 1} objects")
        page.click("#show-versions")
        page.until("document.getElementById('timeline').hidden", "the end of the versions")
        go(page, "#/Person")
        page.click("#show-deleted")
        row = f".row[data-row='{PEOPLE - 1}'].deleted"
        page.until(f"document.querySelector(\"{row} .cell\")?.textContent === '1'", "the deleted object")
        expect("line-through" in page.js(f"return getComputedStyle({CELL}).textDecorationLine", PEOPLE - 1, 0),
               "a deleted object is struck through")
        page.click(f"{row} .cell")
        page.until("document.querySelector('dialog pre')?.textContent.includes('Name 1')", "its last state")
        equal(page.js(CONTRAST) + page.js(LABELS), [], "contrast and names of deleted objects")
        page.keys("Escape")
        page.until("!document.querySelector('dialog')", "the dialog closes")
        page.click("#show-deleted")
        page.until("!document.querySelector('.row.deleted')", "the end of deleted objects")
        expect(True, "the last state of a deleted object is shown")
        # The only errors are those of the object that the newest version does not have.
        equal([line for line in page.errors() if "404" not in line], [], "no other errors in the console")


def test_ending(page):
    with Server(people) as server:
        load(page, server, "#/Person")
        first_row(page, "0")
        server.process.send_signal(signal.SIGINT)
        equal(server.wait(), 0, "Ctrl-C ends the server")
        page.until("document.getElementById('live').dataset.state === 'lost'", "the page notices")
        expect(True, "the page notices that the server ended")
    with Server(people) as server:
        load(page, server, "#/Person")
        page.click("#quit")
        page.until("document.querySelector('dialog')", "the question")
        page.click("dialog .primary")
        equal(server.wait(), 0, "the page ends the server")
        page.until("document.getElementById('message').textContent.includes('has ended')", "the last message")
        expect(True, "the page says that it has ended")


def main():
    """Runs the tests that are named, or all."""
    global people
    names = sys.argv[1:]
    tests = {name.removeprefix("test_"): test for name, test in globals().items() if name.startswith("test_")}
    unknown = [name for name in names if name not in tests]
    if unknown:
        sys.exit(f"no such test: {', '.join(unknown)}; there are {', '.join(tests)}")
    people = make_people("people.realm")
    browser = Browser(scratch)
    try:
        browser.resize(1280, 800)
        for name in names or tests:
            print(f"# {name}", flush=True)
            start = time.monotonic()
            try:
                tests[name](browser)
            except Exception as error:
                expect(False, f"{name}: {error}")
                if not isinstance(error, Failure):
                    traceback.print_exc()
                browser.resize(1280, 800)
            browser.errors()
            print(f"# {name}: {round(1000 * (time.monotonic() - start))} ms", flush=True)
    finally:
        browser.close()


def ended(number, _frame):
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, ended)
    try:
        main()
    finally:
        if failed and os.path.exists(os.path.join(scratch, "server.log")):
            with open(os.path.join(scratch, "server.log"), encoding="utf-8", errors="replace") as log:
                print(*(f"# {line.rstrip()}" for line in log.readlines()[-20:]), sep="\n")
        shutil.rmtree(scratch, ignore_errors=True)
    if failed:
        print("What failed:", *(f"not ok - {what}" for what in failed), sep="\n")
    print(f"{len(passed)} passed, {len(failed)} failed")
    sys.exit(1 if failed or not passed else 0)
