"""What is measured: one machine, and clusters of a coordinator and nodes, all on this machine."""

import os

from lib import processors
from lib.server import DURABLE, WITH_WORKER, Failure, Server, call, say
from lib.store import settle

DATABASE = 'postgres'

SINGLE = DURABLE + WITH_WORKER + """
checkpoint_timeout = 1h
"""
MEMBER = DURABLE + """
wal_level = logical
shared_preload_libraries = 'citus, blogstore'
checkpoint_timeout = 1h
max_prepared_transactions = 200
max_worker_processes = 32
max_replication_slots = 32
max_wal_senders = 32
citus.local_hostname = '{host}'
citus.node_conninfo = 'sslmode=prefer'
citus.enable_statistics_collection = off
"""


class Member(Server):
	"""A server, whose clients change nothing on others by what they define."""

	spread = False

	def address(self):
		"""What clients need to connect."""
		found = super().address()
		if self.spread:
			found['PGOPTIONS'] += ' -c citus.enable_ddl_propagation=off'
		return found

	def value(self, text):
		"""The one value of a query."""
		return self.sql(DATABASE, text)[0][0]

	def processor_seconds(self):
		"""Seconds of processors that all its processes have taken so far, those that have ended among them."""
		return processors.of_server(self.process.pid)


class System:
	"""One machine (no nodes), or a cluster of a coordinator and nodes."""

	def __init__(self, installation, workplace, nodes, options):
		self.nodes_number = nodes
		self.title = 'one machine' if nodes == 0 else f'{nodes} node{"s" if nodes > 1 else ""}'
		self.settings = SINGLE if nodes == 0 else MEMBER + known(installation)
		self.options = options
		# request -> number of calls made, on all members
		self.written = {}
		self.nodes = []
		self.coordinator = self.start(installation, workplace, f'single{len(workplace.servers)}' if nodes == 0 else f'of{nodes}_coordinator')
		if nodes > 0:
			self.join(installation, workplace)
		self.create()

	def start(self, installation, workplace, name):
		"""Start a member."""
		server = Member(installation, workplace, name, self.settings.format(
			buffers=self.options.shared_buffers, host=workplace.path))
		server.spread = self.nodes_number > 0
		server.start()
		if server.spread:
			server.sql(DATABASE, 'CREATE EXTENSION citus')
		return server

	def join(self, installation, workplace):
		"""Start the nodes, and make one cluster of all."""
		self.coordinator.sql(DATABASE, f"SELECT citus_set_coordinator_host('{workplace.path}', {self.coordinator.port})")
		for number in range(1, self.nodes_number + 1):
			node = self.start(installation, workplace, f'of{self.nodes_number}_node{number}')
			self.coordinator.sql(DATABASE, f"SET citus.enable_ddl_propagation = on; SELECT citus_add_node('{workplace.path}', {node.port})")
			self.nodes.append(node)

	def create(self):
		"""The extension, and the containers in as many partitions everywhere."""
		self.coordinator.sql(DATABASE, ('SET citus.enable_ddl_propagation = on; ' if self.nodes else '')
			+ 'CREATE EXTENSION blogstore')
		self.coordinator.sql(DATABASE, ('SET citus.enable_ddl_propagation = on; ' if self.nodes else '')
			+ f'SELECT blogstore.create_containers({self.options.partitions})')
		say(f'{self.title}: started')

	@property
	def members(self):
		"""All servers."""
		return [self.coordinator, *self.nodes]

	@property
	def holders(self):
		"""Those that have posts."""
		return self.nodes or [self.coordinator]

	def settle(self):
		"""Wait until views show all, and counts are folded."""
		settle(self.coordinator, DATABASE)

	def processor_seconds(self):
		"""Of all members together."""
		return sum(member.processor_seconds() for member in self.members)

	def change(self, **settings):
		"""Change settings of all members, or set them back (None)."""
		for member in self.members:
			member.change(**settings)

	def stop(self):
		"""It is not needed any more."""
		for member in self.members:
			member.end()


def known(installation):
	"""Settings of which only some minor releases know."""
	described = call([installation.program('postgres'), '--describe-config'], user=installation.user, cwd='/')
	if any(line.startswith('output_plugin_libraries\t') for line in described.split('\n')):
		return "output_plugin_libraries = 'pgoutput, citus'\n"
	return ''


def require_citus(pg_config):
	"""There is nothing to measure without."""
	library = call([pg_config, '--pkglibdir']).strip()
	for name, what in (('citus', 'BLOGSTORE_CITUS_CONFIG or --pg-config has to be the pg_config of a PostgreSQL with Citus'),
			('blogstore', f'make install PG_CONFIG={pg_config}')):
		if not os.path.exists(os.path.join(library, name + '.so')):
			raise Failure(f'there is no {name}.so in {library}: {what}')
