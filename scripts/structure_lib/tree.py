"""Read a checkout: folders in their order, files, and their dependencies."""
import glob
import os
import re
import subprocess
from collections import namedtuple

from .language import code_of, functions_of, language_of

DOCUMENT = "docs/ARCHITECTURE.md"
HEADING = re.compile(r"^\|\s*folder\s*\|\s*what it knows\s*\|\s*header\s*\|", re.IGNORECASE)
SPAN = re.compile(r"`([^`]+)`")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')

# At this line, the file source uses name, which the file target defines. For
# an include, name is the header.
Arrow = namedtuple("Arrow", "source line target name")


class TreeError(Exception):
    """An error because of which the tree cannot be read."""


class Folder:
    """A row of the table of folders.

    shown maps each header that other folders may include to the names of those
    folders; an empty set means all folders. The name of an area stands for
    all its folders.
    """

    def __init__(self, name, rank, line):
        self.name = name
        self.area = name.split("/")[0] + "/" if "/" in name else name
        self.rank = rank
        self.line = line
        self.shown = {}


class Source:
    def __init__(self, root, path):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.text = file.read()
        self.path = path
        self.folder = None
        self.lines = self.text.split("\n")
        self.length = self.text.count("\n")
        self.language = language_of(path, self.text)
        self.code = code_of(self.text) if self.language == "c" else self.text
        self.functions = functions_of(self.language, self.text, self.code)

    def line_of(self, name):
        """Return the first line with the name, other than its declaration.

        Return None if there is no such line.
        """
        word = re.compile(rf"\b{re.escape(name)}\b")
        for number, line in enumerate(self.code.split("\n"), 1):
            if word.search(line) and not line.startswith("extern "):
                return number
        return None


class Tree:
    def __init__(self, root):
        self.root = root
        self.folders = self.read_folders()
        self.sources = {}
        self.stray = []
        for top in ("src", "bench", "scripts"):
            for path in self.files_under(top):
                source = Source(root, path)
                if source.language:
                    self.sources[path] = source
        for source in self.c_sources():
            source.folder = self.folder_of(source.path)
            if source.folder is None:
                self.stray.append(source.path)
        self.stale = []
        self.includes = self.read_includes()
        self.calls = self.read_calls()

    def files_under(self, top):
        found = glob.glob(f"{top}/**", root_dir=self.root, recursive=True)
        return sorted(
            path
            for path in found
            if os.path.isfile(os.path.join(self.root, path))
            and not path.endswith((".o", ".bc", ".so", ".pyc", ".svg", ".md"))
        )

    def c_sources(self):
        return [s for path, s in self.sources.items() if path.startswith("src/")]

    def read(self, path):
        try:
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                return file.read().split("\n")
        except FileNotFoundError as error:
            raise TreeError(f"there is no {path} in {self.root}") from error

    # -- the table ---------------------------------------------------------

    def read_folders(self):
        """Return the folders by name, in the table's order.

        A row of the table is a folder, a file, or src/ itself.
        """
        lines, folders = self.read(DOCUMENT), {}
        start = next((n for n, line in enumerate(lines) if HEADING.match(line)), None)
        if start is None:
            raise TreeError(f"{DOCUMENT} has no table | folder | what it knows | header |")
        for number, line in enumerate(lines[start + 2 :], start + 3):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not line.startswith("|") or len(cells) != 3:
                break
            name = SPAN.findall(cells[0])
            if len(name) != 1:
                raise TreeError(f"{DOCUMENT}:{number}: no `folder/` in the first cell")
            folder = Folder(name[0], len(folders), number)
            for group in cells[2].split(";"):
                headers, _, limited = group.partition(" for ")
                for header in SPAN.findall(headers):
                    folder.shown[header.removeprefix("src/")] = set(SPAN.findall(limited))
            folders[folder.name] = folder
        return folders

    def folder_of(self, path):
        """Return the folder of a path below src/, or None."""
        inner = path.removeprefix("src/")
        if inner in self.folders:
            return self.folders[inner]
        return self.folders.get(os.path.dirname(inner) + "/" if "/" in inner else "src/")

    # -- arrows ------------------------------------------------------------

    def read_includes(self):
        """Return the includes of blogstore's own headers."""
        return [
            Arrow(source, number, self.sources["src/" + match[1]], match[1])
            for source in self.c_sources()
            for number, line in enumerate(source.lines, 1)
            if (match := INCLUDE.match(line)) and "src/" + match[1] in self.sources
        ]

    def read_calls(self):
        """Return the symbols that one object file uses and another defines."""
        defined, wanted = {}, []
        for source in self.c_sources():
            if not source.path.endswith(".c"):
                continue
            for name, kind in self.symbols(source):
                if kind in "Uw":
                    wanted.append((source, name))
                elif kind in "TDBRVGCW":
                    defined[name] = source
        return [
            Arrow(source, source.line_of(name) or 1, defined[name], name)
            for source, name in wanted
            if name in defined and defined[name] is not source
        ]

    def symbols(self, source):
        path = os.path.join(self.root, source.path)
        made = path[:-2] + ".o"
        if not os.path.exists(made) or os.path.getmtime(made) < os.path.getmtime(path):
            self.stale.append(source.path)
            return []
        output = subprocess.run(
            ["nm", "--format=posix", made], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        return [line.split()[:2] for line in output.splitlines()]
