"""The data set, the same on every system, written through blogstore's
functions.
"""

import os
import subprocess

from lib.server import Failure, environment, say
from lib.store import DATASET
from run_lib.contestants import SQL as RUN_SQL

from .systems import DATABASE

SQL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cluster_sql')
LOADERS = 2				# sessions on each node
CHUNK = 500				# posts in a transaction


class Data:
	"""The data set at a scale. Users and posts have numbers, which are the
	last digits of their ids.
	"""

	def __init__(self, scale, seed):
		self.users = max(20, round(100000 * scale))
		self.idle_users = max(100, self.users // 10)
		self.seed = seed
		self.posts = self.items = 0

	@property
	def most_likes(self):
		"""Of a post."""
		return min(100, self.users // 2)

	def load(self, system):
		"""Each node makes the data for itself, and writes what is its own; users are written once."""
		for member in system.members:
			member.psql(DATABASE, '-f', DATASET)
			member.psql(DATABASE, '-f', os.path.join(RUN_SQL, 'data.sql'), users=self.users, idle_users=self.idle_users, seed=self.seed)
		self.posts = int(system.coordinator.value('SELECT count(*) FROM staging.all_posts'))
		for member in system.members:
			member.psql(DATABASE, '-f', os.path.join(RUN_SQL, 'slice.sql'), users=self.users, seed=self.seed, first=1, last=self.posts)
			member.psql(DATABASE, '-f', os.path.join(SQL, 'mine.sql'))
		self.items = int(system.coordinator.value('SELECT (SELECT count(*) FROM staging.users) + (SELECT count(*) FROM staging.posts)'
			' + (SELECT count(*) FROM staging.comments) + (SELECT count(*) FROM staging.likes)'))
		say(f'{system.title}: writing {self.items:,} items')
		system.coordinator.psql(DATABASE, '-f', os.path.join(SQL, 'users.sql'))
		for name in ('posts', 'comments', 'likes'):
			self.write(system, name)
		system.settle()
		for member in system.members:
			member.sql(DATABASE, 'VACUUM ANALYZE')
			member.sql(DATABASE, 'CHECKPOINT')
		say(f'{system.title}: loaded')

	def write(self, system, name):
		"""What each node has, in sessions of its own, which all work at once."""
		with open(os.path.join(SQL, name + '.sql'), encoding='utf-8') as file:
			text = file.read()
		loaders = []
		for node in system.holders:
			for number in range(LOADERS):
				script = os.path.join(node.socket, f'load_{node.port}_{number}.sql')
				with open(script, 'w', encoding='utf-8') as out:
					for first in range(1, self.posts + 1, CHUNK):
						out.write(f'\\set first {first}\n\\set last {first + CHUNK - 1}\n\\set part {number}\n\\set parts {LOADERS}\n{text}')
				loaders.append(subprocess.Popen([node.installation.program('psql'), '-X', '-q', '-At', '--set=ON_ERROR_STOP=1',
					'-d', DATABASE, '-f', script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
					env={**environment(), **node.address()}))
		failed = [loader.communicate()[1] for loader in loaders]
		if any(loader.returncode for loader in loaders):
			raise Failure('loading failed:\n' + '\n'.join(failed))
