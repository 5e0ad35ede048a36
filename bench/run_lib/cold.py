"""The cost of reads of pages that are not in shared buffers, but in the
system's cache or on disk.
"""

import os
from typing import NamedTuple

from lib.program import turns
from lib.server import DURABLE, WITH_WORKER, Server, say

from .contestants import BY_NAME, SQL
from .measure import Runner
from .small import small_site

ITEMS = 1000, 20000				# users, posts
COMMENTS = 20					# on each post: a page
NAMES = ('list_post_comments', 'list_user_comments', 'get_posts_20')
# effective_io_concurrency; the default is 1 in PostgreSQL 15 to 17 and 16 in
# PostgreSQL 18
AT_A_TIME = (0, 1, 16, 64)
PLACES = ('disk', 'system')
WARM_UP, CALLS = 20, 100


class Cold(NamedTuple):
	"""Times in ms of all rounds, by contestant, request, place and
	effective_io_concurrency.
	"""
	items: tuple
	contestants: list
	times: dict


def cold(site, options, workplace):
	"""Measure pages of comments that are far apart on disk, and posts by ids.

	The server is restarted for each measurement.
	"""
	server = Server(site.server.installation, workplace, 'cold', (DURABLE + WITH_WORKER).format(buffers=options.shared_buffers))
	server.start()
	users, posts = items = (10, 200) if options.quick else ITEMS
	small = small_site(server, 'cold', options, ('blogstore', 'floor'), items)
	for number in range(COMMENTS):
		small.file(os.path.join(SQL, 'small', 'comments.sql'), n=number, users=users, posts=posts)
	small.file(os.path.join(SQL, 'small', 'floor_comments.sql'))
	small.settle()
	small.worker(False)		# The worker would read posts when it starts.
	small.sql('VACUUM ANALYZE')
	found = Cold(items, small.contestants, {})
	for number in range(options.rounds):
		for name in NAMES:
			for pages in AT_A_TIME[::3] if options.quick else AT_A_TIME:
				server.change(effective_io_concurrency=pages)
				for contestant in turns(small.contestants, number):
					for place in PLACES:
						times = anew(small, options, name, contestant, place, number)
						found.times.setdefault((contestant.name, name, place, pages), []).extend(times)
			say(f'round {number + 1}: {name}')
	server.end()
	return found


def anew(site, options, name, contestant, place, number):
	"""Return the times in ms of calls after a restart of the server, with its
	files in the system's cache or not.
	"""
	runner = Runner(site, options)
	site.server.stop('fast')
	for directory, _, files in os.walk(site.server.data):
		for file in files:
			touch(os.path.join(directory, file), place)
	site.server.start()
	calls = (3, 3) if options.quick else (WARM_UP, CALLS)
	_, times = runner.run(BY_NAME[name], contestant, 1, ['-t', str(sum(calls))], seed=number, skip=calls[0])
	return times


def touch(path, place):
	"""Make the system read a file into its cache, or drop it from its cache.
	All of the file is on disk.
	"""
	fd = os.open(path, os.O_RDONLY)
	try:
		if place == 'disk':
			os.fsync(fd)
			os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
		else:
			while os.read(fd, 1 << 20):
				pass
	finally:
		os.close(fd)
