"""Whether import() takes longer, the more there is."""

import statistics
import time
from typing import NamedTuple

from lib.program import turns
from lib.server import say

from .contestants import PLAIN
from .site import Site

SLICES = 20
NEIGHBOURS = 3			# the first and the last ones, whose medians are compared


class Slice(NamedTuple):
	"""What one slice has taken."""
	items: int
	seconds: float
	wal: int				# bytes


def growth(each):
	"""Of what an item of each slice took: the last slice against the first, and the median of the last few against that of the first few."""
	return each[-1] / each[0], statistics.median(each[-NEIGHBOURS:]) / statistics.median(each[:NEIGHBOURS])


def slices(site, options, _workplace):
	"""The data set in twenty slices: contestant's name -> list of Slice; of import() and of plain INSERTs of the same rows, in turn.

	No checkpoint comes between them, and the data have to fit into shared_buffers.
	"""
	other = Site(site.server, 'slices', options.slices_scale, options, ['blogstore'])
	other.begin()
	blogstore, = other.contestants
	found = {}
	for contestant in (PLAIN, blogstore):
		other.prepare(contestant)
		found[contestant.name] = []
	other.sql("SELECT * FROM blogstore.import(users => 'staging.users')")
	other.sql('CHECKPOINT')
	count = 4 if options.quick else SLICES
	for number in range(count):
		first, last = (other.posts * bound // count for bound in (number, number + 1))
		before = sum(other.items.values())
		other.slice(first + 1, last)
		items = sum(other.items.values()) - before
		for contestant in turns((PLAIN, blogstore), number):
			found[contestant.name].append(one(other, contestant, items))
	size = (other.size(blogstore) + other.size(PLAIN)) / 2 ** 20
	if size > options.shared_buffers:
		say(f'slices: {size:,.0f} MB do not fit into shared_buffers, which the bound is for')
	other.drop()
	return found


def one(site, contestant, items):
	"""Load what is in staging."""
	wal = int(site.value("SELECT pg_current_wal_insert_lsn() - '0/0'"))
	start = time.monotonic()
	site.file(contestant.path('load.sql'), contestant)
	seconds = time.monotonic() - start
	say(f'slice of {contestant.title}: {seconds:.2f} s')
	return Slice(items, seconds, int(site.value("SELECT pg_current_wal_insert_lsn() - '0/0'")) - wal)
