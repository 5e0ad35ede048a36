"""What bench/viral is made of.

store		contestants, their data, pgbench, correctness
measure		the parts of the benchmark: what is run in which order
report		medians and Markdown
"""
