#!/usr/bin/env python3
"""A client of `realmfs mcp` over the plain protocol: mcp.py PROGRAM KEYFILE, in a directory with people.realm and
people-encrypted.realm, which it changes. Prints a line `ok - ..` or `not ok - ..` for each statement."""
import json
import os
import shutil
import subprocess
import sys

PROGRAM, KEY = sys.argv[1:3]
LIMIT = 64 << 10


def check(what, condition, detail=""):
    print(f"ok - {what}" if condition else f"not ok - {what}: {str(detail)[:600]}", flush=True)


def equal(what, expected, actual):
    check(what, expected == actual, f"expected {expected!r}, found {actual!r}")


class Server:
    """A server, and the answers that it gave."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([PROGRAM, "mcp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number, self.longest = 0, 0

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, **parameters):
        self.number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}).encode() + b"\n")
        answer = self.answer()
        assert answer["id"] == self.number and answer["jsonrpc"] == "2.0", answer
        return answer

    def call(self, tool, **arguments):
        """The text of an answer, and True if it is an error."""
        result = self.ask("tools/call", name=tool, arguments={k.rstrip("_"): v for k, v in arguments.items()})["result"]
        text = result["content"][0]["text"]
        self.longest = max(self.longest, len(text.encode()))
        return text, result.get("isError", False)

    def get(self, tool, **arguments):
        text, is_error = self.call(tool, **arguments)
        assert not is_error, text
        return json.loads(text)

    def code(self, method, **parameters):
        return self.ask(method, **parameters).get("error", {}).get("code")

    def pages(self, tool, list_name, **arguments):
        """The items of all pages."""
        items, answer = [], self.get(tool, **arguments)
        while True:
            items += answer[list_name]
            if "next" not in answer:
                return items
            answer = self.get(tool, after=answer["next"], **arguments)

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        return self.process.wait(), rest


def run(*words):
    return subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True)


def protocol():
    server = Server("people.realm")
    for version in ("2024-11-05", "2025-03-26", "2025-06-18"):
        equal(f"the client's version {version}", version,
              server.ask("initialize", protocolVersion=version)["result"]["protocolVersion"])
    result = server.ask("initialize", protocolVersion="2077-01-01", capabilities={})["result"]
    equal("otherwise the newest version", "2025-06-18", result["protocolVersion"])
    check("the introduction names the file", "people.realm" in result["instructions"], result)
    server.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n  \n{"jsonrpc":"2.0","id":9,"result":{}}\n')
    equal("notifications, responses and empty lines have no answer", {}, server.ask("ping")["result"])
    equal("unknown method", -32601, server.code("resources/list"))
    equal("a missing version", -32602, server.code("initialize"))
    equal("an unknown tool", -32602, server.code("tools/call", name="drop"))
    equal("a tool without a name", -32602, server.code("tools/call"))
    for what, arguments in (("missing", {}), ("unknown", {"class": "Dog", "klass": 1}), ("of another type", {"class": 1}),
                            ("out of range", {"class": "Dog", "limit": 0}), ("a list", []), ("another file", {
                                "class": "Dog", "file": "other.realm"})):
        equal(f"an argument that is {what}", -32602, server.code("tools/call", name="query", arguments=arguments))
    for text, code in ((b"{", -32700), (b"[1,]", -32700), (b"\xff\xfe", -32700), (b"[" * 2000, -32700), (b"[]", -32600),
                       (b"7", -32600), (b'{"id":1,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600)):
        server.send(text + b"\n")
        answer = server.answer()
        equal(f"{text[:50]} is refused", (code, None), (answer["error"]["code"], answer["id"]))
    server.send(b'{"jsonrpc":"2.0","id":"a\\u0022b","method":"ping"}\n')
    equal("an id is returned unchanged", 'a"b', server.answer()["id"])
    server.send(b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7]\n')
    equal("a batch has one line of answers", [1, None], [answer["id"] for answer in server.answer()])
    before = server.memory()
    server.send(b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"')
    for _ in range(200):
        server.send(b"x" * (1 << 20))
    server.send(b'"}\n')
    equal("a line of 200 MiB is refused", -32600, server.answer()["error"]["code"])
    check("and takes no memory for it", server.memory() - before < 40 << 10, f"{before} to {server.memory()} KiB")
    server.send(b'{"jsonrpc":"2.0","id":5,"method":"ping"}')
    equal("the last line needs no line feed; the end of the input is the end", (0, 5),
          (lambda status, rest: (status, json.loads(rest)["id"]))(*server.end()))


def reading():
    server = Server("people.realm")
    names = [tool["name"] for tool in server.ask("tools/list")["result"]["tools"]]
    equal("tools without --write", ["schema", "query", "get", "count", "diff", "versions", "search"], names)
    classes = {facts["name"]: facts for facts in server.get("schema")["classes"]}
    equal("schema", (5, "name", "double"), (classes["Dog"]["objects"], classes["Dog"]["primaryKey"],
                                            classes["Dog"]["properties"]["weight"]))
    equal("count", 2, server.get("count", class_="Person", query="age > $0 AND dog != nil", args=[33])["count"])
    for query in (None, "age > 20", "TRUEPREDICATE SORT(name DESC)"):
        arguments = {"query": query} if query else {}
        expected = [json.loads(line) for line in run("query", "people.realm", "Person", *arguments.values()).stdout.splitlines()]
        found = server.pages("query", "objects", class_="Person", limit=3, **arguments)
        equal(f"pages of {query or 'all'}", expected, [item["value"] for item in found])
    equal("get", {"name": "Rex", "weight": 4.5, "good": True}, server.get("get", object="Dog/Rex")["value"])
    equal("search", ["Dog/Rex"], [item["object"] for item in server.get("search", text="REX")["objects"]])
    equal("search in a class", [], server.get("search", text="rex", class_="Person")["objects"])
    versions = server.get("versions")["versions"]
    equal("versions", json.loads(run("versions", "--json", "people.realm").stdout)[0]["version"], versions[0]["version"])
    lines = run("diff", "--json", "--previous", "people.realm").stdout.splitlines()
    equal("diff", [json.loads(line) for line in lines], server.get("diff")["differences"])
    older = versions[1]["version"]
    equal("a former version", run("query", "--count", "--version", str(older), "people.realm", "Person").stdout.strip(),
          str(server.get("count", class_="Person", version=older)["count"]))
    for tool, arguments, words in (
            ("query", {"class_": "Person", "query": "age >"}, ("query", "people.realm", "Person", "age >")),
            ("query", {"class_": "Persn"}, ("query", "people.realm", "Persn")),
            ("get", {"object": "Dog/Nobody"}, ("delete", "people.realm", "Dog/Nobody")),
            ("count", {"class_": "Dog", "version": 1}, ("query", "--version", "1", "people.realm", "Dog"))):
        text, is_error = server.call(tool, **arguments)
        expected = run(*words).stderr.removeprefix("realmfs: ").rstrip()
        equal(f"{tool}: the message of the command", (expected, True), (text.rstrip(), is_error))
    answer = server.ask("tools/call", name="set", arguments={})
    check("without --write, changes are refused", "--write" in answer.get("error", {}).get("message", ""), answer)
    server.end()


def changing():
    shutil.copyfile("people.realm", "before.realm")
    server = Server("--write", "people.realm")
    check("tools with --write", {"set", "insert", "delete", "undo"} <= {
        tool["name"] for tool in server.ask("tools/list")["result"]["tools"]})
    text = 'brackets }] in "quotes" and \\ {[ \u2028'
    server.get("set", object="Person/11", values={"name": text, "friends": []})
    equal("set of a text with brackets, quotes and backslashes", text, server.get("get", object="Person/11")["value"]["name"])
    server.get("undo")
    server.get("set", object="Person/4", values={"age": 22, "dog": "Rex", "friends": [11, 18], "email": None})
    value = server.get("get", object="Person/4")["value"]
    equal("set", (22, "Rex", [11, 18], None), tuple(value[name] for name in ("age", "dog", "friends", "email")))
    equal("set of the same values changes nothing", False, server.get("set", object="Person/4", values={"age": 22})["changed"])
    version = server.get("versions")["versions"][0]["version"]
    for tool, arguments, pattern in (
            ("set", {"object": "Person/4", "values": {"age": "old"}}, "expected a whole number"),
            ("set", {"object": "Person/4", "values": {"agee": 1}}, "agee"), ("set", {"object": "Person", "values": {}}, "NAME"),
            ("insert", {"class_": "Dog", "objects": [{"name": "New"}, {"name": "Rex"}]}, "exists"),
            ("insert", {"class_": "Cat", "objects": [{}]}, "no class Cat"), ("delete", {}, "give either"),
            ("delete", {"objects": ["Dog/Rex", "Dog/Nobody"]}, "no object"),
            ("delete", {"class_": "Dog", "query": "name =="}, "column"), ("undo", {"redo": True}, "nothing to redo")):
        text, is_error = server.call(tool, **arguments)
        check(f"{tool} {arguments}: refused", is_error and pattern in text, text)
    equal("a refused call commits nothing", version, server.get("versions")["versions"][0]["version"])
    made = server.get("insert", class_="Dog", objects=[{"name": "Laika", "weight": 5.25, "good": True}])
    equal("insert", (1, "Dog/Laika", 5.25), (made["created"], made["object"],
                                             server.get("get", object="Dog/Laika")["value"]["weight"]))
    run("set", "--quiet", "people.realm", "Dog/Laika", "weight=6")
    equal("a call reads the commit of another program", 6, server.get("get", object="Dog/Laika")["value"]["weight"])
    equal("delete by query", 1, server.get("delete", class_="Dog", query="name == $0", args=["Laika"])["deleted"])
    equal("delete by name", 2, server.get("delete", objects=["Dog/Rex", "Dog/Fido"])["deleted"])
    for _ in range(5):
        server.get("undo")
    equal("undo, five times", ("", 0), (lambda done: (done.stdout, done.returncode))(run("diff", "before.realm", "people.realm")))
    server.get("undo", redo=True)
    equal("redo", 22, server.get("get", object="Person/4")["value"]["age"])
    server.get("undo")
    descriptors = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    for number in range(50):
        server.get("set", object="Person/4", values={"age": number})
    equal("a call leaves no file open", descriptors, len(os.listdir(f"/proc/{server.process.pid}/fd")))
    equal("the server ends", (0, b""), server.end())
    equal("the realm is sound", 0, run("check", "people.realm").returncode)


def bounds():
    run("create", "big.realm", "--schema", "schema.json")
    values = ['"ä\\x' * 100_000, "\x01\x1b" * 30_000]
    with open("Thing.jsonl", "w", encoding="utf-8") as out:
        for number in range(3000):
            text = values[number] if number < len(values) else f"needle {number}" + "x" * (number % 300)
            out.write(json.dumps({"id": number, "text": text, "data": "QUJD" * (20_000 if number == 7 else 1)}) + "\n")
    run("import", "big.realm", "Thing.jsonl")
    server = Server("--write", "big.realm")
    found = server.pages("query", "objects", class_="Thing", limit=1000)
    equal("every object is on one page", list(range(3000)), [item["value"]["id"] for item in found])
    check("long values are omitted", "text" in found[0]["omitted"] and "text" not in found[0]["value"], found[0])
    for number, expected in enumerate(values):
        text, answer = "", {"next": "0"}
        while "next" in answer:
            answer = server.get("get", object=f"Thing/{number}", property="text", after=answer["next"])
            text += answer["text"]
        equal(f"a long value in parts {number}", True, json.loads(text) == expected)
    matches = server.pages("search", "objects", text="needle")
    equal("every match is on one page", 2998, len({item["object"] for item in matches}))
    server.get("delete", class_="Thing", query="TRUEPREDICATE")
    equal("every difference is on one page", 3000, len({item["name"] for item in server.pages("diff", "differences")}))
    check("a long message is cut", len(server.call("query", class_="x" * 65_000)[0]) <= LIMIT)
    text, is_error = server.call("query", class_="Thing", query="(" * 65_000)
    check("a query of 65,000 parentheses is refused", is_error, text)
    equal("a text of more than 64 KiB", -32602, server.code("tools/call", name="query", arguments={"class": "x" * 70_000}))
    check("no answer has more than 64 KiB", server.longest <= LIMIT, server.longest)
    check("memory is bounded", server.memory() < 150 << 10, server.memory())
    server.end()


def several():
    server = Server("--write", "--key-file", KEY, "people-encrypted.realm", "people.realm", "before.realm")
    tools = server.ask("tools/list")["result"]["tools"]
    check("every tool has the files", all(tool["inputSchema"]["properties"]["file"]["enum"] == [
        "people-encrypted.realm", "people.realm", "before.realm"] and "file" in tool["inputSchema"]["required"]
        for tool in tools), tools)
    equal("the file must be named", -32602, server.code("tools/call", name="schema", arguments={}))
    server.get("set", file="people-encrypted.realm", object="Dog/Rex", values={"weight": 99})
    equal("an encrypted file", 99, server.get("get", file="people-encrypted.realm", object="Dog/Rex")["value"]["weight"])
    equal("a plain file beside it", 4.5, server.get("get", file="people.realm", object="Dog/Rex")["value"]["weight"])
    check("it stays encrypted", run("cat", "people-encrypted.realm").returncode == 5)
    lines = run("diff", "--json", "before.realm", "people.realm").stdout.splitlines()
    equal("two files", [json.loads(line) for line in lines],
          server.get("diff", file="before.realm", other="people.realm")["differences"])
    server.end()


with open("schema.json", "w", encoding="utf-8") as schema:
    json.dump({"schemaVersion": 1, "schema": [{"name": "Thing", "primaryKey": "id", "properties": {
        "id": {"type": "int"}, "text": {"type": "string"}, "data": {"type": "data"}}}]}, schema)
for part in (protocol, reading, changing, bounds, several):
    try:
        part()
    except Exception as error:  # pylint: disable=broad-except
        check(part.__name__, False, repr(error))
