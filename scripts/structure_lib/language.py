"""Find functions and comments in C, Python, shell and SQL by their layout.

C has to be formatted by pgindent's rules: a function's name and its braces
begin a line.
"""
import ast
import os
import re
from collections import namedtuple

# first is the line with the name, last the line with the closing brace.
Function = namedtuple("Function", "name first last")

C_OPAQUE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
C_NAME = re.compile(r"^(\w+)\((?!.*;\s*$)")
COMMENT = {
    "c": re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL),
    "sql": re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL),
    "sh": re.compile(r"(?m)^\s*#.*$"),
    "py": re.compile(r"(?m)^\s*#.*$"),
}
IMPORT = {
    "c": re.compile(r"\s*#\s*include\b"),
    "py": re.compile(r"\s*(?:import|from)\s+[\w.]+"),
    "sh": re.compile(r"\s*(?:\.|source)\s"),
    "sql": re.compile(r"\s*\\i"),
}


def language_of(path, text):
    """Return c, py, sh or sql; None if the file is not checked."""
    ending = os.path.splitext(path)[1]
    known = {".c": "c", ".h": "c", ".py": "py", ".sh": "sh", ".sql": "sql"}.get(ending)
    if known or ending:
        return known
    first = text.split("\n", 1)[0]
    if first.startswith("#!"):
        return "py" if "python" in first else "sh"
    return None


def blank(pattern, text):
    """Return the text with all matches blanked, except line ends."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def code_of(text):
    """Return C code without comments and strings."""
    return blank(C_OPAQUE, text)


def c_functions(code):
    """Return the functions defined in C code; see code_of()."""
    lines, found = code.split("\n"), []
    for opening, line in enumerate(lines):
        if line.rstrip() != "{":
            continue
        for name_at in range(opening - 1, max(opening - 20, -1), -1):
            match = C_NAME.match(lines[name_at])
            if match or lines[name_at].startswith(("}", "{", "#")):
                break
        if not match:
            continue
        closing = next(
            (n for n in range(opening, len(lines)) if lines[n].startswith("}")), opening
        )
        found.append(Function(match[1], name_at + 1, closing + 1))
    return found


def python_functions(text):
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(Function(node.name, node.lineno, node.end_lineno))
    return found


def shell_functions(text):
    lines, found = text.split("\n"), []
    for start, line in enumerate(lines):
        match = re.match(r"^(\w+)\(\)\s*$", line)
        if match:
            end = next((n for n in range(start, len(lines)) if lines[n] == "}"), start)
            found.append(Function(match[1], start + 1, end + 1))
    return found


def functions_of(language, text, code):
    if language == "c":
        return c_functions(code)
    if language == "py":
        return python_functions(text)
    return shell_functions(text) if language == "sh" else []


def bare_lines(language, text):
    """Return (number, line) of lines other than blanks, comments and imports.

    Runs of white space become one blank.
    """
    bare = blank(COMMENT[language], text).split("\n")
    return [
        (number, " ".join(line.split()))
        for number, line in enumerate(bare, 1)
        if line.strip() and not IMPORT[language].match(line)
    ]
