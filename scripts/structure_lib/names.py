"""Check for equal file names, and for words that belong to one area."""
import os
import re

WORD, ITS_AREA = re.compile(r"(citus|shard)", re.IGNORECASE), "cluster/"


def check_files(tree):
    """Report equal file names, except a .c and its .h in one folder."""
    first = {}
    for source in tree.c_sources():
        folder, base = os.path.split(source.path)
        name = os.path.splitext(base)[0]
        for other in first.setdefault(name, []):
            if os.path.split(other)[0] != folder:
                yield f"{source.path}:1: {name}: name of a file, also of {other}"
                break
        first[name].append(source.path)


def check_words(tree):
    """Report lines outside of src/cluster/ that name Citus or shards."""
    for source in tree.c_sources():
        if source.path.startswith("src/" + ITS_AREA):
            continue
        for number, line in enumerate(source.lines, 1):
            named = WORD.search(line)
            if named:
                yield f"{source.path}:{number}: {named[0]}: is named outside of src/{ITS_AREA}"


def check(tree):
    yield from check_files(tree)
    yield from check_words(tree)
