"""Copies of this checkout's sources, for tests that build or change them."""
import os
import shutil

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def left_out(folder, names):
    """Return which files of a folder are not sources."""
    made = (".git", "tmp_check", "results", "output_iso", "blogstore-packages") if folder == ROOT else ("__pycache__", "node_modules")
    return [name for name in names if name in made or name.endswith((".o", ".bc", ".so"))]


def copy_sources(directory):
    """Copy the sources into a directory. Its parent exists."""
    shutil.copytree(ROOT, directory, dirs_exist_ok=True, ignore=left_out)


def environment():
    """Return the environment for a make that is not a part of another make."""
    return {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
