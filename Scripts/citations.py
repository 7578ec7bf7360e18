#!/usr/bin/env python3
"""Prints, as FILE:LINE: CITATION, each invalid citation of the format description in a comment of Sources or Tests: a path
without docs/, a missing file, a section without a heading there, or a section without a path. Scripts/tidy.sh runs it."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMENT = re.compile(r"(?:^|\s)///? ?(.*)")
PATH = re.compile(r"(?<![\w/])((?:docs/)?(?:format/)?\d-[a-z]+\.md)")
# The sections after a path: S5, 3.10 or M14, joined by commas, "to" and "and".
SECTIONS = re.compile(r"(?:(?:,? (?:(?:to|and) )?|, ?)[SM]?\d+(?:\.\d+)?(?![\w-]))+")
BARE = re.compile(r"\bSources?: ([SM]\d+|[1-7]\.\d+)\b")
HEADING = re.compile(r"^#+ ([SM]?\d+(?:\.\d+)?)\b", re.MULTILINE)


def headings():
    """The sections of each file of the description, by path from the root."""
    files = sorted((ROOT / "docs/format").glob("[0-9]-*.md"))
    return {str(file.relative_to(ROOT)): set(HEADING.findall(file.read_text())) for file in files}


def citations(text):
    """The line, path and sections of each citation. A citation can continue on the next line of a comment."""
    comments = [match.group(1) if (match := COMMENT.search(line)) else "" for line in text.split("\n")]
    for number, comment in enumerate(comments):
        for match in BARE.finditer(comment):
            yield number + 1, match.group(1), []
        for match in PATH.finditer(comment):
            rest = " ".join([comment[match.end() :]] + comments[number + 1 : number + 3])
            sections = SECTIONS.match(rest)
            yield number + 1, match.group(1), re.findall(r"[SM]?\d+(?:\.\d+)?", sections.group() if sections else "")


def main():
    known = headings()
    for folder in ("Sources", "Tests"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix not in (".swift", ".c", ".h"):
                continue
            for line, path, sections in citations(file.read_text()):
                missing = [path] if path not in known else [f"{path} {s}" for s in sections if s not in known[path]]
                for citation in missing:
                    print(f"{file.relative_to(ROOT)}:{line}: {citation}")


main()
