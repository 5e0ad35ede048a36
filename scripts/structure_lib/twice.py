"""Check for duplicate lines, ignoring blank lines, comments and imports."""
import re

from .language import bare_lines

LINES = 10
# A comment with these words at one of the two places, or up to BEFORE lines
# before it, gives the reason for the duplicate.
REASON = re.compile(r"\bstands? twice\b", re.IGNORECASE)
BEFORE = 8


def windows(tree):
    """Return the places of each run of LINES consecutive lines."""
    found = {}
    for source in tree.sources.values():
        lines = bare_lines(source.language, source.text)
        for start in range(len(lines) - LINES + 1):
            run = tuple(line for _, line in lines[start : start + LINES])
            found.setdefault(run, []).append((source, start, lines))
    return found


def pairs(tree):
    """Yield maximal pairs of equal runs, each run as (source, first, last)."""
    meeting = {}
    for places in windows(tree).values():
        for n, (a, at_a, lines_a) in enumerate(places):
            for b, at_b, lines_b in places[n + 1 :]:
                if a is not b or at_b - at_a >= LINES:
                    meeting[a.path, at_a, b.path, at_b] = (a, lines_a, b, lines_b)
    for (path_a, at_a, path_b, at_b), (a, lines_a, b, lines_b) in meeting.items():
        if (path_a, at_a - 1, path_b, at_b - 1) in meeting:
            continue
        length = LINES
        while (path_a, at_a + length - LINES + 1, path_b, at_b + length - LINES + 1) in meeting:
            length += 1
        yield (
            (a, lines_a[at_a][0], lines_a[at_a + length - 1][0]),
            (b, lines_b[at_b][0], lines_b[at_b + length - 1][0]),
        )


def has_reason(source, first, last):
    return any(REASON.search(line) for line in source.lines[max(first - 1 - BEFORE, 0) : last])


def check(tree):
    for one, other in pairs(tree):
        if not has_reason(*one) and not has_reason(*other):
            (a, first_a, last_a), (b, first_b, last_b) = one, other
            yield (
                f"{b.path}:{first_b}: lines {first_b} to {last_b}: "
                f"stand twice, also in {a.path}:{first_a}-{last_a}"
            )
