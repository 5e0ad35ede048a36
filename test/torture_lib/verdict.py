"""What all parts share: the verdict, and the gate where clients wait."""

import collections
import threading
import time


class Divergence(Exception):
	"""The store is not as the acknowledged commands imply."""


class Verdict:
	"""Counts of what was done, and the divergences that were found."""

	def __init__(self):
		self._lock = threading.Lock()
		self.counts = collections.Counter()
		self.kills = collections.Counter()
		self.altered = collections.Counter()
		self.passed = 0
		self.divergences = []
		self.over = threading.Event()

	def count(self, what, number=1):
		"""Count something that was done."""
		with self._lock:
			self.counts[what] += number

	def passes(self):
		"""Count a check that found nothing."""
		with self._lock:
			self.passed += 1

	def fail(self, text):
		"""Note a divergence; everybody stops."""
		with self._lock:
			self.divergences.append(text)
		self.over.set()


class Gate:
	"""Between two steps clients pass here; closed, it gathers all of them."""

	def __init__(self, clients):
		self._condition = threading.Condition()
		self._clients = clients
		self._waiting = 0
		self._closed = False

	@property
	def closed(self):
		"""Whether clients are to come and wait."""
		return self._closed

	def wait(self, over):
		"""A client waits here while the gate is closed."""
		with self._condition:
			self._waiting += 1
			self._condition.notify_all()
			while self._closed and not over.is_set():
				self._condition.wait(0.1)
			self._waiting -= 1

	def close(self, over, patience):
		"""Close it and wait for all clients; False when they do not come."""
		deadline = time.monotonic() + patience
		with self._condition:
			self._closed = True
			while self._waiting < self._clients and not over.is_set():
				if time.monotonic() > deadline:
					return False
				self._condition.wait(0.1)
		return True

	def open(self):
		"""Let them go on."""
		with self._condition:
			self._closed = False
			self._condition.notify_all()
