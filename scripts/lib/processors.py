"""Seconds of processors, as the system counts them in /proc."""

import os
import threading
import time
from collections import defaultdict

TICKS = os.sysconf('SC_CLK_TCK')
PAUSE = 0.5				# seconds between two looks at processes that come and go

# What the titles of a server's processes begin with; whoever else there is serves a client
KINDS = ('autovacuum worker', 'autovacuum launcher', 'blogstore worker', 'checkpointer', 'background writer', 'walwriter')
CLIENTS = 'sessions'


def ticks(pid, count):
	"""Of a process: in user mode, in the kernel, and the same of children that have ended; none if it is gone."""
	try:
		with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
			fields = file.read().rpartition(')')[2].split()
	except OSError:
		return []
	return [int(field) for field in fields[11:11 + count]]


def children(pid):
	"""The pids of a process's children."""
	with open(f'/proc/{pid}/task/{pid}/children', encoding='utf-8') as file:
		return file.read().split()


def of_server(postmaster):
	"""Seconds that all processes of a server have taken so far, those that have ended among them."""
	return (sum(ticks(postmaster, 4)) + sum(sum(ticks(child, 2)) for child in children(postmaster))) / TICKS


def kind(pid):
	"""What a server's process does, by its title."""
	try:
		with open(f'/proc/{pid}/cmdline', encoding='utf-8', errors='replace') as file:
			title = file.read().removeprefix('postgres: ')
	except OSError:
		return CLIENTS
	return next((known for known in KINDS if title.startswith(known)), CLIENTS)


def machine():
	"""Seconds so far in which the machine's processors had nothing to do, waited for a disk, or were another machine's."""
	with open('/proc/stat', encoding='utf-8') as file:
		_, _, _, _, idle, waiting, _, _, stolen, *_ = file.readline().split()
	return {'idle': int(idle) / TICKS, 'waiting for disks': int(waiting) / TICKS, 'stolen': int(stolen) / TICKS}


class ByKind(threading.Thread):
	"""Looks at the processes of a server until it is stopped: what each kind takes, second by second."""

	def __init__(self, postmaster):
		super().__init__(daemon=True)
		self.postmaster = postmaster
		self.taken = defaultdict(lambda: defaultdict(float))	# second -> kind -> seconds of processors
		self.before = {}			# pid -> ticks
		self.ending = threading.Event()

	def run(self):
		"""Look until told to end."""
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
		"""Add what each process has taken since it was looked at, or since it has begun."""
		now = {pid: sum(ticks(pid, 2)) for pid in children(self.postmaster)}
		for pid, count in now.items():
			used = (count - self.before.get(pid, 0)) / TICKS
			if used > 0:
				of = kind(pid)
				taken[of] = taken.get(of, 0) + used
		self.before = now

	def stop(self):
		"""End, and return what was seen."""
		self.ending.set()
		self.join()
		return self.taken
