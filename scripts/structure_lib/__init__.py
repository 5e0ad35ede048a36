"""Modules of scripts/structure.

tree.py        reads the tree: folders, files, functions, includes, calls
language.py    finds functions and comments in C, Python, shell and SQL
arrows.py      checks includes and calls: upward, circular, of private headers
names.py       checks for equal file names, and for Citus outside of its area
twice.py       checks for duplicate lines
references.py  checks what the documents name
prose.py       checks lines and words of comments and Markdown
"""
