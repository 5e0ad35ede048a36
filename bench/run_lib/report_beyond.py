"""The report's section on the requests beyond the article's."""

from lib.report import table

from .beyond import DEFAULT
from .contestants import BEYOND


def write(found):
	"""Beside the floor, and by the number of partitions."""
	blogstore, floor = found.contestants
	done = [request for request in BEYOND if (request.name, 'blogstore') in found.costs]
	clients = sorted({key[2] for key in found.timing.tps})
	print('\n## Beyond the article\n')
	print('Posts have two properties here, and a third of the comments answer one; the floor\'s tables have the same columns, and an index for\n'
		f'each list. Calls a second of blogstore against the floor\'s, medians of rounds; buffers of a call; {DEFAULT} partitions.')
	table(['request', *(f'{number} client{"s" if number > 1 else ""}' for number in clients), 'ms', 'floor, ms', 'buffers', 'floor'],
		[[f'{request.code} {request.title}', *(f'{found.timing.ratio(request, blogstore, floor, number):.2f}' for number in clients),
		*(f'{found.timing.percentiles(request, contestant).p50:.3f}' for contestant in found.contestants),
		*(f'{found.costs[request.name, contestant.name].buffers:.0f}' for contestant in found.contestants)] for request in done])
	print('\nBytes of WAL of the commands, with the commit and what the worker writes:')
	table(['command', 'blogstore', 'floor'], [[f'{request.code} {request.title}',
		*(f'{found.costs[request.name, contestant.name].wal_all:,.0f}' for contestant in found.contestants)] for request in done if request.writes])
	over_all(found)


def over_all(found):
	"""Those that read all partitions."""
	requests = [request for request in BEYOND if any((request.name, 'blogstore') in costs for costs, _ in found.partitions.values())]
	blogstore, floor = found.contestants
	print(f'\nWhat a user has written or liked lies in all partitions. Pages of 20, at scale {found.scale:g}: buffers / ms, and calls a second\n'
		'against the floor\'s, whose tables have no partitions.')
	table(['partitions', *(title for request in requests for title in (request.title, 'to the floor'))],
		[[number, *(cell for request in requests for cell in (
			f'{costs[request.name, "blogstore"].buffers:.0f} / {timing.percentiles(request, blogstore).p50:.3f}',
			f'{timing.ratio(request, blogstore, floor, 1):.2f}'))] for number, (costs, timing) in found.partitions.items()])
