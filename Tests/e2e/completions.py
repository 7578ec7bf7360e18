# Types lines with the tab key into an interactive shell and compares the resulting arguments of a command with the
# expected ones. completions.py SHELL SCRIPT, in the directory that completions.sh has prepared.
import json
import os
import pty
import select
import sys
import time

shell, script = sys.argv[1:]

# Lines typed before a tab, and the arguments of the command: from names to quoted words and back.
CASES = [
    ("the file", "cat n.re\t", ["cat", "n.realm"]),
    ("a class", "cat n.realm Per\t", ["cat", "n.realm", "Person"]),
    ("a name with a space", "cat n.realm My\t", ["cat", "n.realm", "My Class"]),
    ("an apostrophe", "cat n.realm It\t", ["cat", "n.realm", "It's"]),
    ("a dollar", "cat n.realm Cost\t", ["cat", "n.realm", "Cost$HOME"]),
    ("a letter that is not ASCII", "cat n.realm Üb\t", ["cat", "n.realm", "Über"]),
    ("a colon", "cat n.realm A:\t", ["cat", "n.realm", "A:B"]),
    ("a newline in a class", "cat n.realm Two\t", ["cat", "n.realm", "Two%0ALines"]),
    ("quotation marks", "cat n.realm Say\t", ["cat", "n.realm", 'Say "hi"!']),
    ("within apostrophes", "cat n.realm 'My\t", ["cat", "n.realm", "My Class"]),
    ("an apostrophe within quotation marks", 'cat n.realm "It\t', ["cat", "n.realm", "It's"]),
    ("a dollar within quotation marks", 'cat n.realm "Cost\t', ["cat", "n.realm", "Cost$HOME"]),
    ("an object", "cat n.realm Person/A\t", ["cat", "n.realm", "Person/Ada Lovelace"]),
    ("a class to ask", "query n.realm Do\t", ["query", "n.realm", "Dog"]),
    ("a column", "query n.realm Person --columns fi\t", ["query", "n.realm", "Person", "--columns", "first name"]),
    (
        "the second column of an option with =",
        "query n.realm Person --columns=name,fi\t",
        ["query", "n.realm", "Person", "--columns=name,first name"],
    ),
    ("a newline", "query n.realm Person --columns x\t", ["query", "n.realm", "Person", "--columns", "x\ny"]),
    ("a path", "query n.realm Person --group-by dog.n\t", ["query", "n.realm", "Person", "--group-by", "dog.name"]),
    ("a sum", "query n.realm Dog --sum a\t", ["query", "n.realm", "Dog", "--sum", "age"]),
    (
        "a property in a query",
        "query n.realm Person 'name == \"x\" AND dog.a\t",
        ["query", "n.realm", "Person", 'name == "x" AND dog.age'],
    ),
    (
        "an object, a property to set and its value",
        "set n.realm Per\tAda\tfir\tBob",
        ["set", "n.realm", "Person/Ada Lovelace", "first name=Bob"],
    ),
    ("a property of a new object", "insert n.realm Dog ag\t3", ["insert", "n.realm", "Dog", "age=3"]),
    ("a class of which to delete", "delete n.realm Do\t", ["delete", "n.realm", "Dog"]),
    ("classes to export", "export n.realm --class Dog,Pers\t", ["export", "n.realm", "--class", "Dog,Person"]),
    ("a file with a space", "cat 'my people.realm' Do\t", ["cat", "my people.realm", "Dog"]),
    ("a file below ~", "cat ~/n.realm Do\t", ["cat", os.environ["HOME"] + "/n.realm", "Dog"]),
    ("a file below a variable", "cat $HOME/n.realm Do\t", ["cat", os.environ["HOME"] + "/n.realm", "Dog"]),
    (
        "an encrypted file, by its key file",
        "cat --key-file key.hex secret.realm Per\t",
        ["cat", "--key-file", "key.hex", "secret.realm", "Person"],
    ),
    ("nothing without the key", "cat secret.realm Per\t", ["cat", "secret.realm", "Per"]),
]

STARTS = {
    "bash": (["bash", "--norc", "--noprofile"], f"source {script}\n"),
    "zsh": (
        ["zsh", "-f"],
        f"fpath=({os.path.dirname(script)} $fpath); autoload -Uz compinit; compinit -u -D\n",
    ),
    "fish": (["fish", "--private"], f"source {script}\n"),
}

arguments, start = STARTS[shell]
os.mkfifo("calls." + shell)
calls = os.open("calls." + shell, os.O_RDWR | os.O_NONBLOCK)
os.environ.update(CALLS=os.path.abspath("calls." + shell), TERM="xterm", INPUTRC="/dev/null", LC_ALL="C.UTF-8")
process, terminal = pty.fork()
if process == 0:
    os.execvp(arguments[0], arguments)

screen = b""


def called(seconds=20):
    """The arguments of the next command, or None."""
    global screen
    call, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        for source in select.select([calls, terminal], [], [], 0.1)[0]:
            if source == terminal:
                screen = (screen + os.read(terminal, 65536))[-2000:]
            else:
                call += os.read(calls, 65536)
        if call.endswith(b"\0END\0"):
            return [word.decode() for word in call.split(b"\0")[:-2]]
    return None


def type_keys(text):
    os.write(terminal, text.encode())


type_keys(start)
type_keys("realmfs ready\r")
if called() != ["ready"]:
    print(f"not ok - {shell} does not start: {screen!r}")
    sys.exit()
wrong = 0
for name, typed, expected in CASES:
    type_keys("realmfs " + typed + "\r")
    found = called(5)
    if found != expected:
        wrong += 1
        print(f"not ok - {shell}: {name}: {typed!r} gives {found}, not {expected}")
        if found is None:
            break  # the shell still waits for input, which would break the following lines
if not wrong:
    print(f"ok - {shell}: {len(CASES)} lines typed with the tab key have the right words")
os.kill(process, 9)
