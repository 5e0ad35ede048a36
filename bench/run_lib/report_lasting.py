"""The report's sections on verify() and traffic."""

import statistics

from lib.report import table

from .contestants import BY_NAME
from .traffic import CLIENTS, LOAD, PEERS, WEIGHTS
from .verified import exponent


def write(results):
	"""Those that were measured."""
	for name, part in (('verify', verify), ('traffic', traffic)):
		if name in results:
			part(results[name])


def verify(found):
	"""F16."""
	against, partitions = found
	print('\n## verify()\n')
	print('Beside plain SQL that counts comments and likes by post from the same rows, and compares nothing; neither uses parallel plans.')
	table(['', 's, median', 'least to most', 'items a second'], [[title, f'{statistics.median(times):.2f}', f'{min(times):.2f} to {max(times):.2f}',
		f'{against.items / statistics.median(times):,.0f}'] for title, times in (('verify()', against.verify), ('plain SQL', against.plain))])
	print('\nOf 500 posts of 100 users, in ever more partitions; the first call of a session:')
	table(['partitions', 'buffers', 'ms, median', 'least to most'], [[f'{number:,}', f'{of.buffers:,.0f}', f'{statistics.median(of.times):,.0f}',
		f'{min(of.times):,.0f} to {max(of.times):,.0f}'] for number, of in partitions.items()])
	print(f'\nBetween the two largest, buffers grow by the power of {exponent(partitions, lambda of: of.buffers):.2f} of the number of partitions, time by '
		f'{exponent(partitions, lambda of: statistics.median(of.times)):.2f}; two would be quadratic.')


def traffic(found):
	"""F14."""
	share = sum(weight for name, weight in WEIGHTS.items() if name.startswith('delete_')) / sum(weight for name, weight in WEIGHTS.items() if name not in PEERS.values())
	print('\n## A site\'s traffic\n')
	print(f'Scale {found.scale:g}. All requests mixed, popular posts and authors far more often (Zipf-like, 1.1), {100 * share:.1f} % of them deletions, by {CLIENTS} clients for '
		f'{found.seconds:,} s at {found.rate:,.0f} calls a second (if not given, {100 * LOAD:.0f} % of what the machine can do): {found.done:,} calls. '
		f'Checkpoints ({found.checkpoints}) and autovacuum ({found.vacuums} tables) as the server\'s defaults have them come.\n')
	print(f'On disk: {found.before / 2 ** 20:,.1f} MB before, {found.after / 2 ** 20:,.1f} MB once the views show all, and {found.fresh / 2 ** 20:,.1f} MB of the same '
		f'users, posts, comments and likes when import() has put them into a new database: {found.after / found.fresh:.2f}.')
	print('\nA peer is a plain table in the same database, asked by the same clients: of what reads, a row of one that nobody writes to; of what\n'
		'writes, a row into one that takes nothing else. What makes these slower as well is the machine, and what else runs on it.')
	table(['script', 'of ten thousand', 'p50 of the first sixth, ms', 'of the last', 'p99 of the first sixth, ms', 'of the last', 'last / first', 'to its peer\'s', 'calls of each, at least'],
		[[f'{BY_NAME[name].code} {name}' if name in BY_NAME else name, WEIGHTS[name], *(f'{time:.3f}' for time in of.p50), *(f'{time:.2f}' for time in of.p99),
			f'{of.slower():.2f}', '' if name in PEERS.values() else ratio(found.against_plain(name)), f'{of.calls:,}'] for name, of in found.times.items()])
	print('\nSeconds of processors that each kind of the server\'s processes takes in a second, and of those of the machine:')
	table(['', 'in the first sixth', 'in the last'], [[kind, *(f'{seconds:.3f}' for seconds in both)] for kind, both in found.processors.items()])


def ratio(value):
	"""If there is one."""
	return '' if value is None else f'{value:.2f}'
