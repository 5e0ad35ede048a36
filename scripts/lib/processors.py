"""Processor time in seconds, as /proc has it."""

import os
import threading
import time
from collections import defaultdict

TICKS = os.sysconf('SC_CLK_TCK')
# Seconds between two samples of a server's processes, which come and go.
PAUSE = 0.5

# Titles of a server's processes begin with these words. All other processes
# count as client sessions.
KINDS = ('autovacuum worker', 'autovacuum launcher', 'blogstore worker', 'checkpointer', 'background writer', 'walwriter')
CLIENTS = 'sessions'


def ticks(pid, count):
	"""Return the first count of these times of a process, in clock ticks:
	user mode, kernel mode, and the same two of children that have ended.

	Return an empty list if the process has ended.
	"""
	try:
		with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
			fields = file.read().rpartition(')')[2].split()
	except OSError:
		return []
	return [int(field) for field in fields[11:11 + count]]


def children(pid):
	"""Return the pids of a process's children."""
	with open(f'/proc/{pid}/task/{pid}/children', encoding='utf-8') as file:
		return file.read().split()


def of_server(postmaster):
	"""Return the processor time of all processes of a server so far,
	including those that have ended.
	"""
	return (sum(ticks(postmaster, 4)) + sum(sum(ticks(child, 2)) for child in children(postmaster))) / TICKS


def kind(pid):
	"""Return the kind of a server's process, by its title."""
	try:
		with open(f'/proc/{pid}/cmdline', encoding='utf-8', errors='replace') as file:
			title = file.read().removeprefix('postgres: ')
	except OSError:
		return CLIENTS
	return next((known for known in KINDS if title.startswith(known)), CLIENTS)


def machine():
	"""Return the seconds so far in which the machine's processors were idle,
	waited for a disk, or were taken by the hypervisor.
	"""
	with open('/proc/stat', encoding='utf-8') as file:
		_, _, _, _, idle, waiting, _, _, stolen, *_ = file.readline().split()
	return {'idle': int(idle) / TICKS, 'waiting for disks': int(waiting) / TICKS, 'stolen': int(stolen) / TICKS}


class ByKind(threading.Thread):
	"""Thread that records the processor time of each kind of a server's
	processes, by second, until stop() is called.
	"""

	def __init__(self, postmaster):
		super().__init__(daemon=True)
		self.postmaster = postmaster
		# taken[second][kind] is a processor time in seconds.
		self.taken = defaultdict(lambda: defaultdict(float))
		self.before = {}			# pid -> ticks at the previous sample
		self.ending = threading.Event()

	def run(self):
		"""Take samples until stop() is called."""
		rest = machine()
		self.look({})
		while not self.ending.wait(PAUSE):
			taken = self.taken[int(time.time())]
			self.look(taken)
			now = machine()
			for what, seconds in now.items():
				taken[what] += seconds - rest[what]
			rest = now

	def look(self, taken):
		"""Add the processor time of each process since the previous sample, or
		since the process started.
		"""
		now = {pid: sum(ticks(pid, 2)) for pid in children(self.postmaster)}
		for pid, count in now.items():
			used = (count - self.before.get(pid, 0)) / TICKS
			if used > 0:
				of = kind(pid)
				taken[of] = taken.get(of, 0) + used
		self.before = now

	def stop(self):
		"""End the thread, and return the recorded times."""
		self.ending.set()
		self.join()
		return self.taken
