"""What bench/cluster is made of.

systems		one machine, and clusters: their servers, processors' time
data		the data set, made and loaded on each member
keys		which posts and users calls are for: those that one node has
measure		runs of a request, by where it is asked
parts		what is measured
report		figures to reach, the model, Markdown
"""
