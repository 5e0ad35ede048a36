"""The modules of the program test/torture."""
