"""What scripts/structure is made of.

tree.py        what is checked: rooms, files, functions, includes, calls
language.py    functions and comments in C, Python and shell
arrows.py      includes and calls: up, in a circle, into a room's own header
twice.py       lines that stand twice
references.py  what the documents name
"""
