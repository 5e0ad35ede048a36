"""A small store for counting, in a database of its own."""

import os

from lib.store import DATASET

from .contestants import CONTESTANTS, SQL
from .site import Site


def small_site(server, name, options, contestants, items, partitions=16):
	"""Make the store for the named contestants, with the given numbers of
	users and posts, and without comments and likes.
	"""
	users, posts = items
	site = Site(server, name, users / 100000, options, contestants)
	site.users, site.posts = users, posts
	site.contestants = [contestant for contestant in CONTESTANTS if contestant.name in contestants]
	server.sql('postgres', f'CREATE DATABASE {name}')
	site.sql('CREATE EXTENSION blogstore')
	site.file(DATASET)
	site.file(os.path.join(SQL, 'small', 'data.sql'), users=users, posts=posts, seed=site.seed)
	for contestant in site.contestants:
		site.sql(f'CREATE SCHEMA {contestant.schema}')
		if contestant.is_blogstore:
			site.sql(f'SELECT blogstore.create_containers({partitions})')
			site.file(os.path.join(SQL, 'small', 'blogstore.sql'))
			site.worker(True)
			continue
		for path in map(contestant.path, ('schema.sql', 'users.sql', 'load.sql', 'copies.sql', 'indexes.sql')):
			if path:
				site.file(path, contestant)
	site.sql('VACUUM ANALYZE')
	site.settle()
	site.sql('CHECKPOINT')
	return site
