"""Check the lines and some words of comments and of Markdown.

A line of a comment has at most 79 columns, with a tab stop at every fourth
column. A line of Markdown has at most 100, except in tables, HTML and code.
A line without a blank, such as a long link, may be longer.
"""
import glob
import os
import re
from collections import namedtuple

from .language import language_of

TOPS = ("src", "sql", "scripts", "test", "bench", "examples")
DOCUMENTS = ("*.md", "docs/*.md", "test/**/*.md", "bench/*.md", "examples/**/*.md")
COMMENT_WIDTH, MARKDOWN_WIDTH, TAB = 79, 100, 4

# Phrases that a reader has to read twice.
PHRASES = re.compile(
    r"\b(?:so many|goes on to|is to be|by and by|in the end|Whoever)\b", re.IGNORECASE
)
# A sentence that begins with "Who", and the character that ends it.
WHO = re.compile(r"(?:^|(?<=[.:!?] ))Who [^.:!?]*([.:!?]|$)")

MARKED = {
    "c": re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL),
    "sql": re.compile(r"(?m)/\*.*?\*/|(?:^[ \t]*--[^\n]*\n?)+", re.DOTALL),
    "hash": re.compile(r"(?m)(?:^[ \t]*#(?![!\w])[^\n]*\n?)+"),
}
STYLE = {
    "c": "c", ".js": "c", ".mjs": "c", ".css": "c",
    "sql": "sql", ".pgbench": "sql",
    "sh": "hash", "py": "hash", ".pl": "hash", ".pm": "hash", ".spec": "hash",
}
STRING = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
MARK = re.compile(r"^\s*(?:/?\*+/?|//|--|#+)\s*|\s*\*/\s*$")

# A line of prose: its number, the line up to the end of the comment, its text.
Line = namedtuple("Line", "number whole text")


def style_of(path, text):
    ending = os.path.splitext(path)[1]
    return STYLE.get(ending) or STYLE.get(language_of(path, text))


def without_strings(text):
    """Return C or JavaScript with its strings blanked."""
    return STRING.sub(
        lambda match: match[0] if match[0][0] == "/" else "x" * len(match[0]), text
    )


def comments_of(style, text):
    """Return each comment, as its lines."""
    if style == "c":
        text = without_strings(text)
    for match in MARKED[style].finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        first = text.rfind("\n", 0, match.start()) + 1
        lines = text[first : match.end()].rstrip("\n").split("\n")
        bare = match[0].rstrip("\n").split("\n")
        yield [
            Line(number + n, whole, MARK.sub("", MARK.sub("", said)))
            for n, (whole, said) in enumerate(zip(lines, bare))
        ]


def sentences(lines):
    """Return the lines as one text, and a function from a place to its line."""
    starts, text = [], ""
    for line in lines:
        starts.append((len(text), line.number))
        text += line.text + " "
    return text.rstrip(), lambda place: max(s for s in starts if s[0] <= place)[1]


def check_words(path, lines):
    text, line_of = sentences(lines)
    for match in PHRASES.finditer(text):
        yield f"{path}:{line_of(match.start())}: {match[0]}: a phrase to be avoided"
    for match in WHO.finditer(text):
        if match[1] != "?":
            yield f"{path}:{line_of(match.start())}: Who: begins a sentence that is no question"


def check_width(path, line, most):
    width = len(line.whole.expandtabs(TAB))
    if width > most and " " in line.text.strip():
        yield f"{path}:{line.number}: {width} columns: a line of prose has at most {most}"


def prose_of(lines):
    """Return the paragraphs of Markdown outside of code blocks, with tables."""
    paragraph, fenced = [], False
    for number, line in enumerate(lines, 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        ends = fence or fenced or not line.strip() or line.startswith(("    ", "\t"))
        if ends or line.startswith(("|", "#")) or line.lstrip().startswith(("- ", "* ")):
            yield paragraph
            paragraph = []
        if not ends:
            paragraph.append(Line(number, line, re.sub(r"^\s*(?:[-*>] |#+ )?", "", line)))
    yield paragraph


def check_document(path, lines):
    for paragraph in prose_of(lines):
        yield from check_words(path, paragraph)
        for line in paragraph:
            if not line.whole.startswith(("|", "<")):
                yield from check_width(path, line, MARKDOWN_WIDTH)


def check_code(path, text):
    style = style_of(path, text)
    if style is None:
        return
    for comment in comments_of(style, text):
        yield from check_words(path, comment)
        for line in comment:
            yield from check_width(path, line, COMMENT_WIDTH)


def check(tree):
    for top in TOPS:
        for path in tree.files_under(top):
            with open(os.path.join(tree.root, path), encoding="utf-8", errors="replace") as file:
                yield from check_code(path, file.read())
    for pattern in DOCUMENTS:
        for path in sorted(glob.glob(pattern, root_dir=tree.root, recursive=True)):
            if "node_modules" not in path:
                yield from check_document(path, tree.read(path))
