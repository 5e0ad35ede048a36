"""owners

A client of a cluster that goes straight to the node that has a post, with psycopg2:

	owners = Owners([('node1.example', 5432), ('node2.example', 5432)], dbname='site', user='site')
	owners.call(post_id, 'SELECT * FROM blogstore.get_post(%s)', [post_id])

Which node has which post is asked of any node (blogstore.node_of()), and remembered for a while. When a
shard is moved, what is remembered is wrong, and still right enough: the node that has had the post has
it served by the one that has it now. So a move shows in nothing but time, and it is enough to ask
again now and then, and when a node cannot be reached.

One thread, one Owners: connections are not shared.
"""

import time

import psycopg2

FRESH = 60				# seconds that an answer is believed
MOST = 100000			# posts that are remembered


class Owners:
	"""Connections to the nodes, and which of them has which post."""

	def __init__(self, entries, fresh=FRESH, port=None, **parameters):
		"""Entries are (host, port) of some nodes; port, if given, is that of a pooler on each node."""
		self.entries = list(entries)
		self.fresh = fresh
		self.port = port
		self.parameters = parameters		# of each connection: dbname, user, password, ...
		self.connections = {}				# node -> connection
		self.known = {}						# post -> (node, when that was asked)

	def connection(self, node):
		"""A connection to a node, in autocommit mode."""
		found = self.connections.get(node)
		if found is None or found.closed:
			found = psycopg2.connect(host=node[0], port=node[1], **self.parameters)
			found.autocommit = True
			self.connections[node] = found
		return found

	def any_connection(self):
		"""A connection to the first node that answers: every one serves every request."""
		for number, node in enumerate(self.entries):
			try:
				return self.connection(node)
			except psycopg2.OperationalError:
				if number == len(self.entries) - 1:
					raise

	def node_of(self, post):
		"""(host, port) of the node that has a post."""
		node, asked = self.known.get(post, (None, 0))
		if node is not None and time.monotonic() - asked < self.fresh:
			return node
		with self.any_connection().cursor() as cursor:
			cursor.execute('SELECT host, port FROM blogstore.node_of(%s)', [post])
			host, port = cursor.fetchone()
		if len(self.known) >= MOST:
			self.known.clear()
		node = (host, self.port or port)
		self.known[post] = (node, time.monotonic())
		return node

	def forget(self, node):
		"""A node cannot be reached: whatever was there may have moved, or its name may be another's."""
		self.connections.pop(node, None)
		self.known = {post: known for post, known in self.known.items() if known[0] != node}

	def call(self, post, statement, arguments):
		"""Rows of a statement about a post, asked of the node that has it.

		Where that node cannot be reached, another one is asked. A connection that is lost during the
		statement is the caller's to know about: what was written may be stored or not.
		"""
		node = self.node_of(post)
		try:
			connection = self.connection(node)
		except psycopg2.OperationalError:
			self.forget(node)
			connection = self.any_connection()
		try:
			with connection.cursor() as cursor:
				cursor.execute(statement, arguments)
				return cursor.fetchall()
		except psycopg2.Error:
			if connection.closed:
				self.forget(node)
			raise

	def close(self):
		"""End all connections."""
		for connection in self.connections.values():
			connection.close()
		self.connections = {}
