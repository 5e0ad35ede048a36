"""owners

A client of a cluster that sends requests to the node that has the post, with
psycopg2:

	owners = Owners([('node1.example', 5432), ('node2.example', 5432)],
		dbname='site', user='site')
	owners.call(post_id, 'SELECT * FROM blogstore.get_post(%s)', [post_id])

The client asks any node for the node of a post (blogstore.node_of()), and
caches the answer for a minute. A cached answer may be outdated after a shard
has moved. Requests still succeed, because the old node forwards them to the
new one; they only take longer. So the client asks again only after a minute,
or when a node cannot be reached.

Each thread needs an Owners of its own, because connections are not shared.
"""

import time

import psycopg2

FRESH = 60				# seconds for which an answer is cached
MOST = 100000			# posts in the cache


class Owners:
	"""Connections to the nodes, and a cache of the nodes of posts."""

	def __init__(self, entries, fresh=FRESH, port=None, **parameters):
		"""entries are (host, port) of some nodes.

		port, if given, is the port of a pooler on each node.
		"""
		self.entries = list(entries)
		self.fresh = fresh
		self.port = port
		self.parameters = parameters		# dbname, user, password, ...
		self.connections = {}				# node -> connection
		self.known = {}						# post -> (node, time of answer)

	def connection(self, node):
		"""Return a connection to a node, in autocommit mode."""
		found = self.connections.get(node)
		if found is None or found.closed:
			found = psycopg2.connect(host=node[0], port=node[1], **self.parameters)
			found.autocommit = True
			self.connections[node] = found
		return found

	def any_connection(self):
		"""Return a connection to the first node that can be reached.

		Every node serves every request.
		"""
		for number, node in enumerate(self.entries):
			try:
				return self.connection(node)
			except psycopg2.OperationalError:
				if number == len(self.entries) - 1:
					raise

	def node_of(self, post):
		"""Return (host, port) of the node that has a post."""
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
		"""Drop the connection and the cached answers of a node that cannot be
		reached: its posts may have moved, or its name may be another node's.
		"""
		self.connections.pop(node, None)
		self.known = {post: known for post, known in self.known.items() if known[0] != node}

	def call(self, post, statement, arguments):
		"""Run a statement about a post on the node that has it, and return the
		rows.

		If that node cannot be reached, another node runs the statement. If the
		connection is lost during the statement, the error goes to the caller:
		the statement may or may not have been committed.
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
