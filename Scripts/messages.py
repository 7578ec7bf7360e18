#!/usr/bin/env python3
"""Lists what the program can say in docs/MESSAGES.md: every text of the sources that has several words, by what it is
about. Words in capitals stand for what is filled in. With --write the file is written, else compared."""
import pathlib
import re
import sys

HEAD = """# Messages

What realmfs can say, from the sources, by what it is about; `Scripts/messages.py --write` makes the list. Search it for the
words that you see. Words in capitals stand for names, numbers and the reasons that the system gives; what begins or ends
with … is a part of a longer message. [TROUBLESHOOTING.md](TROUBLESHOOTING.md) explains those that need more than
themselves.
"""

# Title, what to do, and the files whose texts it has; the first that fits counts.
GROUPS = [
    (
        "Command line",
        "Nothing was done. `realmfs help COMMAND` has the options and examples of a command. Exit code 2.",
        r"realmfs/(ArgumentParser|Arguments|Program|MountHelper|OptionTable|KnownNames)",
    ),
    (
        "Keys",
        "Nothing was done. Give the 64 bytes that the app uses, as `--key-file`, `--key-command`, `--key-env` or "
        "`--key-fd`. Exit codes 5 and 6. See TROUBLESHOOTING, [Keys](TROUBLESHOOTING.md#keys).",
        r"realmfs/(Key|Rewrite)|RealmPages/File/(Encrypt|Key|AES|Page)",
    ),
    (
        "Mounting and unmounting",
        "Exit codes 9 and 10; in the background the text is in the system log, `journalctl -t realmfs`. See "
        "[Mounting](TROUBLESHOOTING.md#mounting).",
        r"realmfs/(Mount|Umount|RealmMount|Transaction|Trash|Migration|Status|KeyPipe|Daemon)|FuseBridge/|FileTree/Views/",
    ),
    (
        "Opening and sharing a realm",
        "Nothing was changed. `realmfs info FILE` says what the file is and who has it open. Exit codes 3, 4, 7 and 8. See "
        "[In use](TROUBLESHOOTING.md#in-use).",
        r"RealmPages/(Open|Coordination|File)/|RealmPages/EngineError|realmfs/(FileDiagnosis|InfoCommand|LockHolders|RealmSource|SeveralNames)",
    ),
    (
        "Copies, compaction, upgrades and recovery",
        "The file is what it was before, and no half-made file is left.",
        r"RealmPages/Copy/|realmfs/(Copy|Compact|Backup|Recover|Upgrade|Convert|Rewrite|Verification|Staging|Create)",
    ),
    (
        "Queries, columns and sums",
        "A mistake is shown at its column; `realmfs help query` has the language. Exit code 2.",
        r"RealmQuery/|realmfs/(Query|ObjectRows|RowPrinter)",
    ),
    (
        "Import, export and comparison",
        "A transaction is made whole or not at all, and so is a file. See "
        "[Import, export, query](TROUBLESHOOTING.md#import-export-query).",
        r"RealmTransfer/|realmfs/(Import|Export|Diff)",
    ),
    (
        "Synced realms",
        "The mirror is a version that the server had, and the next download goes on from it; a save that fails says whether "
        "it was sent. `.realm/sync.json` and `realmfs info MIRROR` tell how things stand. Exit code 12. See [SYNC.md](SYNC.md).",
        r"RealmSync/|realmfs/(Pull|Sync|MirrorFacts)",
    ),
    (
        "Replicas",
        "The transaction was not made, and the replica is at the version that `_realmfs` names. What may pass is tried again "
        "while `replicate` runs. See [POSTGRESQL.md](POSTGRESQL.md).",
        r"RealmReplica/|realmfs/(Replicate|Verify)",
    ),
    (
        "Objects and schemas as JSON",
        "Nothing was saved; the message has the place in the text. In a mount it is in `user.realmfs.error`, in "
        "`.realm/errors` and in the log, and the text in `.realm/rejected`. See [Saving](TROUBLESHOOTING.md#saving).",
        r"RealmJSON/",
    ),
    ("Files of a mount", "The same holds.", r"FileTree/"),
    ("Other commands", "What was done is said; exit code 0, or that of the failure.", r"realmfs/"),
    (
        "Rules of the format",
        "The file is damaged there, or a program asked for something that the format has not. `realmfs check FILE` lists all "
        "damage, `realmfs recover FILE OUT` saves what can be read. Exit code 4.",
        r"RealmPages/",
    ),
]

# Texts that are no messages: help, manual pages, source code of schemas, SQL.
OTHERS = re.compile(
    r"realmfs/(Options|HelpText|ManPage|MountManPage|Roff|Schema|Completions|Completer|ShellWords)|ControlReadme"
    r"|RealmSwift/|Threads/|SQLiteSink|ReadmeText|SQLTypes|ReplicaTable|Catalog|ReplicaState|SHA256Digest"
)


def literals(text):
    """The string literals of a Swift source as (begin, end, parts), parts being texts and (expression,)."""
    index, size = 0, len(text)
    while index < size:
        if text.startswith("//", index):
            index = text.find("\n", index)
            if index < 0:
                return
        elif text.startswith('"""', index):
            index = text.find('"""', index + 3) + 3
        elif text[index] == '"':
            end, parts = literal(text, index)
            yield index, end, parts
            index = end
        else:
            index += 1


def literal(text, begin):
    parts, current, index = [], "", begin + 1
    while text[index] != '"' and text[index] != "\n":
        if text.startswith("\\(", index):
            depth, start, index = 1, index + 2, index + 2
            while depth:
                if text[index] == '"':
                    index = literal(text, index)[0]
                    continue
                depth += {"(": 1, ")": -1}.get(text[index], 0)
                index += 1
            parts += [current, (text[start : index - 1],)]
            current = ""
        elif text[index] == "\\":
            current += {"n": " ", "r": " ", "t": " ", "u": "…"}.get(text[index + 1], text[index + 1])
            index += 2
        else:
            current += text[index]
            index += 1
    return index + 1, parts + [current]


def name(expression):
    """What stands for a value."""
    if re.match(r"(System\.message|ErrnoText|String\(cString: strerror)", expression):
        return "REASON"
    found = re.match(r"^(?:try )?[A-Za-z_$0-9.]*?([A-Za-z]+)(\.(rawValue|description|joined|printable|message|problem)\b.*)?$",
                     expression, re.S)
    if not found:
        return "…"
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", found[1]).split()[-1].upper()
    return "REASON" if word in ("ERROR", "CAUSE", "PROBLEM", "REASON", "MESSAGE") else word


def messages(path):
    text, found = path.read_text(), []
    end = None
    for begin, stop, parts in literals(text):
        # Short texts count where something fails.
        least = 2 if re.search(r"throw|Log\.|usage\(|Failure\(|Error\(", text[max(0, begin - 60) : begin]) else 3
        words = "".join(part if isinstance(part, str) else name(part[0]) for part in parts)
        # Parts of one text that stand on several lines.
        if end is not None and re.fullmatch(r"\s*\+\s*", text[end:begin]):
            found[-1] = (found[-1][0], found[-1][1] + words)
        else:
            found.append((least, words))
        end = stop
    for least, words in found:
        words = re.sub(r"\s+", " ", words)
        if re.match(r"[a-z,;:.)]? ?", words) and words[:1] in ",;:) " or words.startswith(". "):
            words = "…" + words
        if " " in words and len(re.findall(r"[a-z]{2,}", words)) >= least and not re.match(r"^… ?(ON DELETE|VALUES|FOR VALUES)|^(SELECT|PRAGMA|CREATE|INSERT|ALTER|DROP|DELETE|BEGIN|COMMENT|SET|ROLLBACK|_object_key|/)", words):
            yield words.strip().replace("|", "\\|").replace("`", "'")


def document(root):
    groups = {title: set() for title, _, _ in GROUPS}
    for path in sorted((root / "Sources").rglob("*.swift")):
        place = str(path.relative_to(root / "Sources"))
        if OTHERS.search(place):
            continue
        title = next((title for title, _, files in GROUPS if re.match(files, place)), None)
        if title:
            groups[title].update(messages(path))
    text = HEAD
    for title, help_, _ in GROUPS:
        text += f"\n## {title}\n\n{help_}\n\n" + "".join(f"- `{words}`\n" for words in sorted(groups[title]))
    return text


root = pathlib.Path(__file__).resolve().parent.parent
target = root / "docs/MESSAGES.md"
text = document(root)
if "--write" in sys.argv:
    target.write_text(text)
elif not target.exists() or target.read_text() != text:
    print("docs/MESSAGES.md:1")
