"""Two files of one name, and words that belong to one area alone."""
import os
import re

from .tree import KNOWN

WORD, ITS_AREA = re.compile(r"citus|shard", re.IGNORECASE), "cluster/"


def check_files(tree):
    """A .c and its .h in one folder share their name"""
    first = {}
    for source in tree.c_sources():
        folder, base = os.path.split(source.path)
        name = os.path.splitext(base)[0]
        for other in first.setdefault(name, []):
            if os.path.split(other)[0] != folder:
                yield f"{source.path}:1: {name}: name of a file, also of {other}"
                break
        first[name].append(source.path)


def check_word(tree):
    """The core does not name Citus or its shards, neither in code nor in comments; as many lines as
    KNOWN says still do"""
    counted = {}
    for source in tree.c_sources():
        if source.path.startswith("src/" + ITS_AREA):
            continue
        lines = [number for number, line in enumerate(source.lines, 1) if WORD.search(line)]
        counted[source.path] = len(lines)
        if ("word", source.path, ITS_AREA) not in tree.known:
            for number in lines:
                yield f"{source.path}:{number}: Citus or a shard: is named outside of src/{ITS_AREA}"
    for (verb, path, area), (line, number) in tree.known.items():
        there = counted.get(path, 0)
        if verb == "word" and there != number:
            yield f"{KNOWN}:{line}: {path}: {number} lines are known to name Citus or shards, there are {there}"


def check(tree):
    yield from check_files(tree)
    yield from check_word(tree)
