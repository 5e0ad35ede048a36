"""What the benchmarks share.

server		private servers, psql
pgbench		runs of pgbench, and what they came to
report		Markdown, and where it was measured
"""
