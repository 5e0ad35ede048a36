"""Check that files, functions and lines that the documents name exist.

The check reads names between backquotes: `src/folder/file.c:function`,
`src/folder/file.c:120`, `src/folder/file.c:120 function` (a line of that
function), `file.c`, `folder/` and `function()`. src/ may be omitted.
"""
import glob
import os
import re

from .tree import DOCUMENT, SPAN

DOCUMENTS = [DOCUMENT, "CONTRIBUTING.md"]
PLACE = re.compile(r"^([\w./-]+\.[ch]):(?:(\d+)(?: (\w+)(?:\(\))?)?|(\w+)(?:\(\))?)$")
FILE = re.compile(r"^[\w./-]+\.(?:c|h|py|pl|pm|sql|sh|spec|md)$")
FOLDER = re.compile(r"^[\w.-]+(?:/[\w.-]+)*/$")
CALL = re.compile(r"^(\w+)\(\)$")


def find_source(tree, path):
    """Return the source with this path, or the only one with this name."""
    for name in (path, "src/" + path):
        if name in tree.sources:
            return tree.sources[name]
    named = [s for s in tree.c_sources() if os.path.basename(s.path) == path]
    return named[0] if len(named) == 1 else None


def fault_of_place(tree, match):
    path, line, owner, name = match.groups()
    source = find_source(tree, path)
    if source is None:
        return "there is no such file"
    if name is not None:
        if any(f.name == name for f in source.functions):
            return None
        return f"{source.path} has no function {name}"
    if int(line) > source.length:
        return f"{source.path} has {source.length} lines"
    if owner is not None:
        spans = [f for f in source.functions if f.name == owner]
        if not any(f.first <= int(line) <= f.last for f in spans):
            return f"line {line} of {source.path} is none of {owner}'s"
    return None


def exists(tree, path):
    """Return whether a file or folder exists."""
    path = path.rstrip("/")
    tries = [path, f"src/{path}", f"src/**/{path}", f"test/{path}", f"test/*/{path}"]
    tries += [f"bench/{path}", f"scripts/{path}", f"sql/{path}"]
    return any(glob.glob(os.path.join(tree.root, attempt), recursive=True) for attempt in tries)


def words_of(tree):
    """Return all words of the code, including names of the server."""
    words = set()
    for source in tree.sources.values():
        words.update(re.findall(r"\w+", source.code))
    for path in glob.glob(os.path.join(tree.root, "sql", "*.sql")) + glob.glob(
        os.path.join(tree.root, "test", "t", "*.p[lm]")
    ):
        with open(path, encoding="utf-8") as file:
            words.update(re.findall(r"\w+", file.read()))
    return words


def check(tree):
    words = words_of(tree)
    for document in DOCUMENTS:
        if not os.path.exists(os.path.join(tree.root, document)):
            continue
        for number, line in enumerate(tree.read(document), 1):
            for span in SPAN.findall(line):
                fault = None
                if match := PLACE.match(span):
                    fault = fault_of_place(tree, match)
                elif FILE.match(span) or FOLDER.match(span):
                    fault = None if exists(tree, span) else "there is no such file or folder"
                elif match := CALL.match(span):
                    fault = None if match[1] in words else "the code has no such function"
                if fault:
                    yield f"{document}:{number}: {span}: {fault}"
