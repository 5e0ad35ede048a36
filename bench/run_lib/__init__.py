"""What bench/run is made of.

contestants		who takes part, and the requests
site			the data set in a database, loaded for every contestant
measure			time, buffers and WAL of the requests
check			that all contestants answer the same, and hold the same
parts			what else is measured: freshness, rebuild, rename, ...
figures			the figures to reach, and what was measured of them
report			Markdown
plots			SVG, by gnuplot
"""
