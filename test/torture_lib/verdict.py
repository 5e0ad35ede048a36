"""The verdict of a run, and the gate where clients wait."""

import collections
import threading
import time


class Divergence(Exception):
	"""The store differs from what the acknowledged commands imply."""


class Verdict:
	"""Counters of what was done, and the divergences found."""

	def __init__(self):
		self._lock = threading.Lock()
		self.counts = collections.Counter()
		self.kills = collections.Counter()
		self.altered = collections.Counter()
		self.passed = 0
		self.divergences = []
		self.over = threading.Event()

	def count(self, what, number=1):
		"""Add to a counter."""
		with self._lock:
			self.counts[what] += number

	def passes(self):
		"""Count a successful check."""
		with self._lock:
			self.passed += 1

	def fail(self, text):
		"""Note a divergence, and end the run."""
		with self._lock:
			self.divergences.append(text)
		self.over.set()


class Gate:
	"""Clients pass the gate between two steps, and wait while it is closed."""

	def __init__(self, clients):
		self._condition = threading.Condition()
		self._clients = clients
		self._waiting = 0
		self._closed = False

	@property
	def closed(self):
		"""Return whether the gate is closed."""
		return self._closed

	def wait(self, over):
		"""Wait while the gate is closed. Clients call this."""
		with self._condition:
			self._waiting += 1
			self._condition.notify_all()
			while self._closed and not over.is_set():
				self._condition.wait(0.1)
			self._waiting -= 1

	def close(self, over, patience):
		"""Close the gate; return False if not all clients come in time."""
		deadline = time.monotonic() + patience
		with self._condition:
			self._closed = True
			while self._waiting < self._clients and not over.is_set():
				if time.monotonic() > deadline:
					return False
				self._condition.wait(0.1)
		return True

	def open(self):
		"""Open the gate."""
		with self._condition:
			self._closed = False
			self._condition.notify_all()
