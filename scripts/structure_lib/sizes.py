"""Rooms, files and functions that are too long to be read."""
import re

from .language import split_parameters
from .tree import DOCUMENT

ROOM_LINES = 3500
FILE_LINES = 500
FUNCTION_LINES = 80
PARAMETERS = 6

POINTER = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*\(")


def check_lengths(tree):
    for room in tree.rooms.values():
        length = sum(s.length for s in tree.c_sources() if s.room is room)
        if length > ROOM_LINES:
            yield (
                f"{DOCUMENT}:{room.line}: {room.name}: "
                f"room of {length} lines, more than {ROOM_LINES}"
            )
    for source in tree.sources.values():
        if source.length > FILE_LINES:
            yield (
                f"{source.path}:{FILE_LINES + 1}: {source.path}: "
                f"file of {source.length} lines, more than {FILE_LINES}"
            )
        for function in source.functions:
            length = function.last - function.first + 1
            if length > FUNCTION_LINES:
                yield (
                    f"{source.path}:{function.first}: {function.name}: "
                    f"function of {length} lines, more than {FUNCTION_LINES}"
                )


def is_callback(tree, function):
    """Is the C function never called by name, and its address taken? Then its
    signature is that of the pointer through which it is called."""
    word = re.compile(rf"\b{function.name}\b(\s*\()?")
    taken = False
    for source in tree.c_sources():
        for number, line in enumerate(source.code.split("\n"), 1):
            for match in word.finditer(line):
                declared = number in (f.first for f in source.functions if f.name == function.name)
                if declared or line.startswith(("static ", "extern ")):
                    continue
                if match[1]:
                    return False
                taken = True
    return taken


def check_parameters(tree):
    for source in tree.sources.values():
        for function in source.functions:
            if len(function.parameters) <= PARAMETERS:
                continue
            if source.language == "c" and is_callback(tree, function):
                continue
            yield (
                f"{source.path}:{function.first}: {function.name}: "
                f"{len(function.parameters)} parameters, more than {PARAMETERS}"
            )
        if source.language != "c":
            continue
        for match in POINTER.finditer(source.code):
            number = source.code.count("\n", 0, match.start()) + 1
            parameters = split_parameters(source.code[match.end() :])
            if len(parameters) > PARAMETERS:
                yield (
                    f"{source.path}:{number}: {match[1]}: "
                    f"pointer to a function with {len(parameters)} parameters, "
                    f"more than {PARAMETERS}"
                )


def check(tree):
    yield from check_lengths(tree)
    yield from check_parameters(tree)
