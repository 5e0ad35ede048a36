"""The report's sections on what is counted: WAL, buffers of first requests, instructions."""

import statistics

from lib.report import table

from .contestants import BY_NAME
from .figures import spread
from .first import NOTHING, PLAIN
from .wal import NAMES, RATE, SKEWS, TAIL

TITLES = {'spread': 'evenly spread', 'zipf': 'Zipf-like', 'create_like': 'like', 'create_comment': 'comment', 'v1': 'V1', 'blogstore': 'blogstore'}
WORTH_A_ROW = 1.0		# bytes of a write


def write(results):
	"""Those that were measured."""
	for name, part in (('wal', wal), ('first', first), ('instructions', instructions)):
		if name in results:
			part(results[name])


def wal(found):
	"""F10, and the records of WAL."""
	print('\n## WAL of a like and a comment, for good\n')
	print('Bytes of WAL that one write costs: of all that is written from before the first of a row of them until the views show\n'
		f'them and nothing is left to do ({TAIL} s after the last, if not in a quick run), by one client, one a transaction, {RATE} a second,\n'
		'divided by their number; full_page_writes off, without autovacuum or checkpoints. V1 inserts the same rows, with its\n'
		f'foreign keys and indexes that serve the same lists. Zipf-like: the nth post by 1 / n to the power of {SKEWS["zipf"]}.\n'
		'Medians of the rounds, with the least and the most of what they come to beside V1\'s.')
	rows = []
	for kind in SKEWS:
		for name in NAMES:
			theirs, mine = found[kind, name, 'v1'], found[kind, name, 'blogstore']
			rows.append([TITLES[name], TITLES[kind],
				*(f'{value:,.0f}' for value in (middle(theirs, 'bytes'), middle(mine, 'bytes'))), against(mine, theirs),
				f'{middle(theirs, "rate"):,.0f} / {middle(mine, "rate"):,.0f}'])
	table(['write', 'over posts', 'V1', 'blogstore', 'to V1', 'writes/s'], rows)
	for kind in SKEWS:
		records(kind, {key[1:]: of[0].records for key, of in found.items() if key[0] == kind})


def middle(rounds, what):
	"""The median of the rounds."""
	return statistics.median(getattr(of, what) for of in rounds)


def against(mine, theirs):
	"""Of the rounds: the median of their ratios, with the least and the most."""
	return spread([one.bytes / other.bytes for one, other in zip(mine, theirs)])


def records(kind, found):
	"""Where the bytes go."""
	if not all(found.values()):
		print('\nWhere they go is not known: pg_waldump is not installed.')
		return
	keys = [(name, contestant) for name in NAMES for contestant in ('v1', 'blogstore')]
	types = {kind for of in found.values() for kind, size in of.items() if size >= WORTH_A_ROW}
	order = sorted(types, key=lambda kind: -max(of.get(kind, 0) for of in found.values()))
	print(f'\nBy type of record, in the first round, {TITLES[kind]}, without what aligns them in their pages:')
	table(['record', *(f'{TITLES[name]}, {TITLES[contestant]}' for name, contestant in keys)],
		[*([kind, *(f'{found[key].get(kind, 0):,.0f}' for key in keys)] for kind in order),
		['all', *(f'{sum(found[key].values()):,.0f}' for key in keys)]])


def first(found):
	"""F12."""
	print('\n## The first request of a session\n')
	print('Buffers that a session of one statement has asked for until its end, by pg_stat_database, less those of a session that\n'
		f'asks for nothing ({NOTHING}); ms of the statement alone. Medians, with the least and the most.')
	for partitions, sessions in found.items():
		plain = sessions[PLAIN].median()
		table([f'{partitions} partitions', 'sessions', 'buffers', 'to the plain table', 'ms'], [
			[title, len(of.buffers), f'{of.median():,.0f} ({min(of.buffers):,.0f} to {max(of.buffers):,.0f})', f'{of.median() / plain:.2f}',
				f'{sorted(of.times)[len(of.times) // 2]:.2f} ({min(of.times):.2f} to {max(of.times):.2f})'] for title, of in sessions.items()])


def instructions(found):
	"""Of the queries."""
	print('\n## Instructions of a query\n')
	if found is None:
		print('Not counted: valgrind is not installed.')
		return
	print('Of the server\'s process, by callgrind: what a session of many calls of a prepared statement takes more than one of few,\n'
		'divided by the calls it has more. The floor reads in the order of its index, which its plans are looked at for.')
	table(['query', 'floor', 'blogstore', 'floor / blogstore'], [[f'{BY_NAME[name].code} {BY_NAME[name].title}', f'{of.floor:,.0f}',
		f'{of.blogstore:,.0f}', f'{of.ratio:.3f}'] for name, of in found.items()])
