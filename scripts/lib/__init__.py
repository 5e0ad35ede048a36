"""Modules shared by the Python programs of bench/, test/ and scripts/.

program		command line, verdict, order of turns, clean exit
server		private servers, psql
pgbench		runs of pgbench, and their results
processors	processor time by kind of process
store		the data set's path; wait for blogstore's worker, and verify
report		Markdown tables, facts about the machine
"""
