"""Check includes and calls: upward, circular, or of private headers."""
import re

from .tree import DOCUMENT

# A declaration. Functions that the server looks up in the library are declared
# beside their definitions, so those are excluded.
DECLARATION = re.compile(r"extern\s+(?!PGDLLEXPORT\b)")


def circles(arrows, source, target):
    """Return the sets of nodes that reach each other along arrows.

    This is Tarjan's algorithm, without recursion.
    """
    graph = {}
    for arrow in arrows:
        graph.setdefault(source(arrow), []).append(target(arrow))
        graph.setdefault(target(arrow), [])
    index, low, stack, found = {}, {}, [], []
    for root in graph:
        work = [(root, iter(graph[root]))] if root not in index else []
        if work:
            index[root] = low[root] = len(index)
            stack.append(root)
        while work:
            node, following = work[-1]
            for other in following:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(graph[other])))
                    break
                if other in stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1:
                        found.append(set(stack[at:]))
                    del stack[at:]
    return found


def in_circles(kind, arrows, source, target):
    """Report each circle of files, headers or folders.

    For folders, a line follows for each pair in the circle, with the names by
    which one depends on the other.
    """
    for circle in circles(arrows, source, target):
        joined = {}
        for arrow in arrows:
            ends = source(arrow), target(arrow)
            if set(ends) <= circle and ends[0] != ends[1]:
                joined.setdefault(ends, []).append(arrow)
        first = next(iter(joined.values()))[0]
        yield (
            f"{first.source.path}:{first.line}: {first.name}: "
            f"circle of {kind}: {', '.join(sorted(circle))}"
        )
        for (lower, upper), between in joined.items() if kind != "folders" else ():
            names = list(dict.fromkeys(arrow.name for arrow in between))
            more = f" and {len(names) - 6} more" if len(names) > 6 else ""
            yield (
                f"{between[0].source.path}:{between[0].line}: {', '.join(names[:6])}{more}: "
                f"in that circle, from {lower} to {upper}"
            )


def check_table(tree):
    for path in tree.stray:
        yield f"{path}:1: {path}: in no folder of the table in {DOCUMENT}"
    for path in tree.stale:
        yield f"{path}:1: {path}: has no object as new as it is: build it first"
    for folder in tree.folders.values():
        if not any(source.folder is folder for source in tree.c_sources()):
            yield f"{DOCUMENT}:{folder.line}: {folder.name}: there is no such folder in src/"
        for header in folder.shown:
            if "src/" + header not in tree.sources:
                yield f"{DOCUMENT}:{folder.line}: {header}: there is no such header in src/"


def goes_up(arrow):
    lower, upper = arrow.source.folder, arrow.target.folder
    return lower and upper and lower.rank < upper.rank


def check_direction(tree):
    for verb, arrows in (("include", tree.includes), ("call", tree.calls)):
        for arrow in arrows:
            if goes_up(arrow):
                yield (
                    f"{arrow.source.path}:{arrow.line}: {arrow.name}: {verb} goes up from "
                    f"{arrow.source.folder.name} to {arrow.target.folder.name} ({arrow.target.path})"
                )


def check_headers(tree):
    for arrow in tree.includes:
        folder, other = arrow.source.folder, arrow.target.folder
        if other is None or folder is other:
            continue
        limited = other.shown.get(arrow.name)
        if limited is None:
            yield (
                f"{arrow.source.path}:{arrow.line}: {arrow.name}: "
                f"header that is for {other.name} alone"
            )
        elif limited and folder and not {folder.name, folder.area} & limited:
            yield (
                f"{arrow.source.path}:{arrow.line}: {arrow.name}: "
                f"header that is for {', '.join(sorted(limited))} alone"
            )


def check_declarations(tree):
    """Report declarations in .c files; they bypass the headers."""
    for source in tree.c_sources():
        for number, line in enumerate(source.code.split("\n"), 1):
            if source.path.endswith(".c") and DECLARATION.match(line):
                yield (
                    f"{source.path}:{number}: {' '.join(line.split())}: "
                    f"declared in a file of code instead of a header"
                )


def check(tree):
    def path(end):
        return lambda arrow: getattr(arrow, end).path

    def folder(end):
        return lambda arrow: getattr(arrow, end).folder.name

    yield from check_table(tree)
    yield from check_direction(tree)
    yield from check_headers(tree)
    yield from check_declarations(tree)
    yield from in_circles("files", tree.calls, path("source"), path("target"))
    headers = [arrow for arrow in tree.includes if arrow.source.path.endswith(".h")]
    yield from in_circles("headers", headers, path("source"), path("target"))
    housed = [a for a in tree.includes + tree.calls if a.source.folder and a.target.folder]
    yield from in_circles("folders", housed, folder("source"), folder("target"))
