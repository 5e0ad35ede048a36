"""What the Python programs of bench/, test/ and scripts/ share, as lib.sh is what the shell's do.

program	command line, verdict, turns, the end
server		private servers, psql
pgbench		runs of pgbench, and what they came to
store		the data set; blogstore at rest, and compared with itself
report		Markdown, and where it was measured
"""
