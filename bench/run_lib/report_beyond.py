"""The report's sections on what the article has not: other requests, and pages that are not in the cache."""

import statistics

from lib.report import table

from .beyond import DEFAULT
from .cold import COMMENTS
from .contestants import BEYOND, BLOGSTORE, BY_NAME, HOME_FEED
from .figures import spread
from .hints import WAYS
from .topics import REQUESTS


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


def topics(found):
	"""Beside a user's posts."""
	print('\n## The posts of a topic\n')
	print(f'Pages of 20, {found.posts:,} posts by as many users as there are topics. One client; medians of rounds. A page of a topic takes\n'
		f'{spread(found.ratios())} times as long as one of a user.')
	table(['request', 'ms', 'buffers'], [[request.title, f'{found.timing.percentiles(request, BLOGSTORE).p50:.3f}',
		f'{found.buffers[request.name]:.0f}'] for request in REQUESTS])


def home(found):
	"""By the number of followed users."""
	print('\n## The posts of all followed users\n')
	print(f'Pages of 20, {found.users:,} users with {found.posts} posts each; one client. Median ms and buffers of a call, beside two plans of the same\n'
		'merge on the floor\'s tables. Both take keys from the index alone, the newest 20 of each followed user (LATERAL) or those of all posts\n'
		'(join), and read only the 20 rows of the page. Calls a second of blogstore against those of the faster plan, by round.')
	table(['followed users', *(f'{contestant.title}, {what}' for what in ('ms', 'buffers') for contestant in found.contestants), 'to the faster plan'],
		[[f'{followed:,}', *(f'{timing.percentiles(HOME_FEED, contestant).p50:.3f}' for contestant in found.contestants),
		*(f'{found.costs[followed][HOME_FEED.name, contestant.name].buffers:,.0f}' for contestant in found.contestants),
		spread(found.ratios(followed))] for followed, timing in found.timings.items()])


def hints(found):
	"""By the setting and by who listens."""
	print('\n## Live hints\n')
	print(f'Likes of {found.clients} clients, spread over all posts, by `blogstore.notify`. Meanwhile a session creates posts, one after another, and looks\n'
		'for each in the feed. The server\'s queue of notifications has room for 8 GB. Medians of rounds.')
	table(['', 'likes a second', 'to off', 'from commit to the feed, ms: p50', 'p99', 'the queue grows by, kB a second'],
		[[way.title, f'{tps:,.0f}', spread(found.ratios(way)), f'{p50:.1f}', f'{p99:.1f}', f'{grown / 1000:,.1f}']
		for way, (tps, p50, p99, grown) in ((way, found.medians(way)) for way in WAYS)])


def cold(found):
	"""By effective_io_concurrency."""
	print('\n## Pages that are not in the cache\n')
	print(f'{found.items[1]:,} posts, and {COMMENTS} comments on each, written to one post after another: those on a post, and posts asked for at\n'
		'random, lie in pages of their own. The server has just been started; its files are on disk, or in the system\'s cache. Median ms of a\n'
		'call, one client, by effective_io_concurrency, of which 1 is the default of PostgreSQL 15 to 17, and 16 that of 18. The floor reads in the order\n'
		'of the index, where the server asks for nothing ahead.')
	at_a_time = sorted({key[3] for key in found.times})
	table(['request', 'files', '', *at_a_time], [[f'{BY_NAME[name].code} {BY_NAME[name].title}', place, contestant.title,
		*(f'{statistics.median(found.times[contestant.name, name, place, pages]):.2f}' for pages in at_a_time)]
		for name, place in dict.fromkeys(key[1:3] for key in found.times) for contestant in found.contestants])
