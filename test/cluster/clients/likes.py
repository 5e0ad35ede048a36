#!/usr/bin/python3
"""likes HOST:PORT,... STOP USER,... POST,... ROLE

A client that uses examples/cluster/owners.py. It likes each post by one user
after another and reads it, again and again until the file STOP exists. It prints
the node of a post when it is new or has changed, and at the end the number of
its acknowledged calls.
"""

import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..', '..', 'examples', 'cluster'))

from owners import Owners


def rounds(stop):
	"""One after another, the last one once the file is there."""
	while True:
		last = os.path.exists(stop)
		yield
		if last:
			return


def main():
	"""See above."""
	entries, stop = sys.argv[1:3]
	users, posts = (part.split(',') for part in sys.argv[3:5])
	owners = Owners([(host, int(port)) for host, _, port in (entry.rpartition(':') for entry in entries.split(','))],
		fresh=0.5, dbname='postgres', user=sys.argv[5])
	seen, calls = {}, 0
	for _ in rounds(stop):
		for user in users:
			for post in posts:
				node = owners.node_of(post)
				if seen.get(post) != node:
					seen[post] = node
					print('at', post, node[1], flush=True)
				((liked,),) = owners.call(post, 'SELECT user_id FROM blogstore.create_like(%s, %s)', [post, user])
				before = owners.node_of(post)
				((count, port),) = owners.call(post, "SELECT like_count, current_setting('port')::int FROM blogstore.get_post(%s)", [post])
				# shards move no more than once meanwhile
				if liked != user or count < 1 or port not in (before[1], owners.node_of(post)[1]):
					sys.exit(f'{post} at {before}: {liked}, {count}, {port}')
				calls += 2
		time.sleep(0.01)
	owners.close()
	print('calls', calls)


main()
