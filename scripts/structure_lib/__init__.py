"""What scripts/structure is made of.

tree.py        what is checked: folders, files, functions, includes, calls
language.py    functions and comments in C, Python and shell
arrows.py      includes and calls: up, in a circle, into a folder's own header
names.py       two files of one name, and Citus or shards named outside of their area
twice.py       lines that stand twice
references.py  what the documents name
"""
