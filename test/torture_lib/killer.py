"""The killer does harm to the server, which the store has to survive.

Which harm it does and how long it waits depends on the seed. The harms are
dealt from a shuffled deck, so that each of them comes within a minute.
"""

import random
import time

import psycopg2

from lib.server import PATIENCE

from .properties import SHORT_FORMS
from .verdict import Divergence

WORKER_STATE = 'SELECT state FROM blogstore.stat_worker'


class Killer:
	"""Does one harm at a time. Each harm is a method."""

	def __init__(self, server, clients, verdict, seed):
		self.server = server
		self.clients = clients
		self.verdict = verdict
		self.random = random.Random(f'{seed}/killer')
		self.deck = []
		self.last = []			# names of the harms since the last check
		self.dice = 0.0

	def pause(self):
		"""Return how long the clients work before the next harm."""
		return self.random.uniform(0.7, 1.7)

	def strike(self):
		"""Do the next of the deck, at times two in a row."""
		self._deal()
		if self.random.random() < 0.2:
			time.sleep(self.random.uniform(0, 0.3))
			self._deal()

	def _deal(self):
		if not self.deck:
			self.deck = self.harms()
			self.random.shuffle(self.deck)
		harm = self.deck.pop()
		self.last.append(harm.__name__.replace('_', ' '))
		# drawn whether or not it is used, so that the next draws do not
		# depend on what this one meets
		self.dice = self.random.random()
		if harm():
			self.verdict.kills[self.last[-1]] += 1
		else:
			self.verdict.count('kills without a victim')

	def harms(self):
		"""Return the harms."""
		return [
			self.kill_worker, self.kill_worker_in_mid_batch, self.kill_worker_in_rebuild, self.kill_worker_in_job,
			self.kill_launcher, self.kill_backend, self.kill_backend, self.kill_checkpointer,
			self.kill_walwriter, self.kill_postmaster, self.kill_postmaster_in_recovery,
			self.kill_postmaster_in_mid_batch, self.kill_while_worker_is_stopped,
			self.stop_immediately, self.restart_fast, self.terminate_worker, self.terminate_client,
			self.drop_slot, self.invalidate_slot, self.rebuild, self.repair, self.change_short_form]

	def clean_up(self):
		"""Undo a harm that has failed half-way."""
		deadline = time.monotonic() + PATIENCE
		while True:
			try:
				self.server.ask('ALTER SYSTEM RESET max_slot_wal_keep_size')
				self.server.ask('SELECT pg_reload_conf()')
				self.server.ask('SELECT blogstore.start_worker()')
				return
			except psycopg2.Error as error:
				if time.monotonic() > deadline:
					raise Divergence(f'start_worker() is refused: {error}') from error
				time.sleep(0.05)

	# -- victims ---------------------------------------------------------

	def _find(self, backend_type):
		"""Return a process id; wait for a worker that was just killed."""
		deadline = time.monotonic() + 30
		while time.monotonic() < deadline:
			pid = self.server.pid_of(backend_type)
			if pid is not None:
				return pid
			time.sleep(0.02)
		return None

	def _kill(self, backend_type):
		pid = self._find(backend_type)
		return pid is not None and self.server.kill_process(pid)

	def kill_worker(self):
		"""kill -9 of the worker: the server restarts, and the worker with it.
		"""
		return self._kill('blogstore worker')

	def kill_launcher(self):
		"""kill -9 of the launcher."""
		return self._kill('blogstore launcher')

	def kill_checkpointer(self):
		"""kill -9 of the checkpointer."""
		return self._kill('checkpointer')

	def kill_walwriter(self):
		"""kill -9 of the walwriter."""
		return self._kill('walwriter')

	def kill_backend(self):
		"""kill -9 of a client's backend."""
		pid = self.clients[int(self.dice * len(self.clients))].pid
		return pid is not None and self.server.kill_process(pid)

	def kill_postmaster(self):
		"""kill -9 of the postmaster, and a start as by an init system."""
		self.server.kill_postmaster()
		self.server.start()
		return True

	def kill_postmaster_in_recovery(self):
		"""kill -9 of the postmaster, and again while the server recovers."""
		self.server.kill_postmaster()
		self.server.launch()
		time.sleep(self.dice * 0.2)
		return self.kill_postmaster()

	def stop_immediately(self):
		"""pg_ctl stop -m immediate."""
		self.server.stop('immediate')
		self.server.start()
		return True

	def restart_fast(self):
		"""pg_ctl restart -m fast."""
		self.server.stop('fast')
		self.server.start()
		return True

	def terminate_worker(self):
		"""pg_terminate_backend() of the worker."""
		pid = self._find('blogstore worker')
		return pid is not None and self.server.ask('SELECT pg_terminate_backend(%s)', pid)[0][0]

	def terminate_client(self):
		"""pg_terminate_backend() of a client."""
		pid = self.clients[int(self.dice * len(self.clients))].pid
		return pid is not None and self.server.ask('SELECT pg_terminate_backend(%s)', pid)[0][0]

	# -- in the middle of something --------------------------------------

	def _await_worker(self, holder):
		"""Wait until the worker waits for a lock that the holder has.

		The worker gives up the wait at times and comes back. It may also have
		nothing to do, or be blocked.
		"""
		deadline = time.monotonic() + 30
		waiting = """
			SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'blogstore worker' AND %s = ANY (pg_blocking_pids(pid))"""
		pid = holder.info.backend_pid
		while time.monotonic() < deadline and self.server.ask(waiting, pid)[0][0] == 0:
			if self._is_blocked():
				return
			time.sleep(0.01)

	def _is_blocked(self):
		"""Return whether an alteration of the owner blocks the worker."""
		return self.server.ask(WORKER_STATE)[0][0] == 'blocked'

	def _hold_worker_in_mid_batch(self):
		"""Hold the worker between its writes. Return the session that does.

		The checkpoint writes the slot's confirmed position to disk. If that is
		past the applied position, a crash loses changes.
		"""
		holder = self.server.connect_patiently()
		holder.autocommit = False
		cursor = holder.cursor()
		cursor.execute('LOCK TABLE blogstore.feed IN EXCLUSIVE MODE')
		self._await_worker(holder)
		# The worker confirms the slot about once in a second.
		time.sleep(self.dice * 1.8)
		self.server.ask('CHECKPOINT')
		return holder

	def kill_worker_in_mid_batch(self):
		"""kill -9 of the worker while it waits in the middle of a batch."""
		holder = self._hold_worker_in_mid_batch()
		try:
			return self._kill('blogstore worker')
		finally:
			holder.close()

	def kill_postmaster_in_mid_batch(self):
		"""kill -9 of the postmaster while the worker waits in the middle of a
		batch."""
		holder = self._hold_worker_in_mid_batch()
		try:
			return self.kill_postmaster()
		finally:
			holder.close()

	def rebuild(self):
		"""rebuild_views() beside live traffic."""
		self.server.ask('SELECT blogstore.rebuild_views()')
		return True

	def change_short_form(self):
		"""Change short_form_properties, which causes a rebuild beside live
		traffic."""
		return self.server.change_short_form(int(self.dice * len(SHORT_FORMS)))

	def kill_worker_in_rebuild(self):
		"""kill -9 of the worker in a rebuild, while it waits for a locked
		copy."""
		holder = self.server.connect_patiently()
		holder.autocommit = False
		try:
			cursor = holder.cursor()
			cursor.execute("""
				SELECT FROM blogstore.users WHERE type = 'post'
				ORDER BY md5(id::text || %s) LIMIT 1 FOR KEY SHARE""", (str(self.dice),))
			locked = cursor.rowcount > 0
			self.server.ask('SELECT blogstore.rebuild_views()')
			if locked:
				self._await_worker(holder)
			return self._kill('blogstore worker')
		finally:
			holder.close()

	def kill_worker_in_job(self):
		"""kill -9 of the worker while there is a rename or a deletion to do.
		"""
		holder = self.server.connect_patiently()
		holder.autocommit = False
		try:
			# The worker does no job while this lock is held.
			cursor = holder.cursor()
			cursor.execute('LOCK TABLE blogstore.feed IN SHARE MODE')
			deadline = time.monotonic() + 30
			jobs = "SELECT count(*) FROM blogstore.jobs WHERE kind <> 'rebuild'"
			while time.monotonic() < deadline and self.server.ask(jobs)[0][0] == 0 and not self._is_blocked():
				time.sleep(0.01)
		finally:
			holder.close()
		time.sleep(self.dice * 0.02)
		return self._kill('blogstore worker')

	def repair(self):
		"""repair() beside live traffic, to which it may lose a deadlock."""
		try:
			self.server.ask('SELECT blogstore.repair()')
		except psycopg2.Error as error:
			if error.pgcode not in ('40001', '40P01'):
				raise
		return True

	# -- the slot --------------------------------------------------------

	def _stop_worker(self):
		self.server.ask('SELECT blogstore.stop_worker()')

	def kill_while_worker_is_stopped(self):
		"""kill -9 of the postmaster: a stopped worker stays stopped."""
		self._stop_worker()
		self.kill_postmaster()
		deadline = time.monotonic() + PATIENCE
		while self.server.ask(WORKER_STATE)[0][0] != 'stopped':
			if time.monotonic() > deadline:
				raise Divergence('after stop_worker() and a crash stat_worker shows '
					f'{self.server.ask(WORKER_STATE)[0][0]}, not stopped')
			time.sleep(0.05)
		# The launcher examines every database once, by a worker that ends when
		# it knows the state. Otherwise there must be no worker.
		while self.server.pid_of('blogstore worker') is not None:
			if time.monotonic() > deadline:
				raise Divergence('after stop_worker() and a crash there is a worker')
			time.sleep(0.05)
		self.server.ask('SELECT blogstore.start_worker()')
		return True

	def drop_slot(self):
		"""Drop the slot while the worker is stopped."""
		self._stop_worker()
		dropped = self.server.ask("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE plugin = 'blogstore'")
		time.sleep(self.dice * 0.2)
		self.server.ask('SELECT blogstore.start_worker()')
		return bool(dropped)

	def invalidate_slot(self):
		"""Invalidate the slot while the worker is stopped."""
		self._stop_worker()
		self.server.ask("ALTER SYSTEM SET max_slot_wal_keep_size = '4MB'")
		self.server.ask('SELECT pg_reload_conf()')
		deadline = time.monotonic() + PATIENCE
		lost = False
		while not lost and time.monotonic() < deadline and self.server.ask('SELECT FROM pg_replication_slots'):
			# Write WAL here, because clients may write little.
			self.server.ask("SELECT pg_logical_emit_message(false, 'torture', repeat('x', 1000000))")
			self.server.ask('SELECT pg_switch_wal()')
			self.server.ask('CHECKPOINT')
			lost = self.server.ask("SELECT count(*) FROM pg_replication_slots WHERE wal_status = 'lost'")[0][0] > 0
		self.server.ask('ALTER SYSTEM RESET max_slot_wal_keep_size')
		self.server.ask('SELECT pg_reload_conf()')
		self.server.ask('SELECT blogstore.start_worker()')
		return lost
