"""The figures to reach, and what was measured of them."""

from typing import NamedTuple

from .contestants import BY_NAME, REQUESTS
from .first import PLAIN

ONE = ('get_user', 'get_post')
LISTS = ('list_user_posts', 'list_post_comments', 'list_post_likes', 'list_feed')
NOT_MEASURED = 'not measured'


class Figure(NamedTuple):
	"""One line of the table."""
	name: str
	what: str
	bound: str
	measured: str
	reached: bool		# None: not measured
	part: str			# which measures it


def absent(name, what, bound, part):
	"""A figure that was not measured."""
	return Figure(name, what, bound, NOT_MEASURED, None, part)


def judged(name, what, part, found, bound, most=False):
	"""A figure of one value or more by name, each of which has a bound: the least it may be, or the most."""
	said = f'at {"most" if most else "least"} {bound:.2f}'
	if not found:
		return absent(name, what, said, part)
	worst = max(found.values()) if most else min(found.values())
	return Figure(name, what, said, ', '.join(f'{key} {value:.2f}' for key, value in found.items()),
		worst <= bound if most else worst >= bound, part)


def reached(site, options, results):
	"""All figures, those that are counted first."""
	return [
		*counted(site, results), growth(results),
		*throughput(site, options, results), viral(results), freshness(results), rebuild(results),
		absent('F8', 'memory of the worker while 10 million changes are decoded', 'at most logical_decoding_work_mem + 64 MB',
			'test/t/018_large_transactions.pl, for fewer'),
		against_v1(site, results),
		absent('F11', 'pages dirtied by a million likes, against V1', 'at most 1.20', 'none yet'),
		absent('F14', 'an hour of mixed traffic: size against fresh data; p99 at the end against the beginning', 'at most 1.30; 1.20', 'none yet'),
		absent('F15', '20th slice of import() against the first', 'at most 1.30', 'none yet'),
		absent('F16', 'verify() against counting in plain SQL; at 1,024 partitions', 'at least 0.50; no quadratic cost', 'none yet'),
		units(site, results), imported(site), tracking(results),
	]


def counted(site, results):
	"""F1, F2 by instructions; F10, F12, F13."""
	instructions = results.get('instructions') or {}
	for name, what, requests in (('F1', 'one item', ONE), ('F2', 'lists', LISTS)):
		yield judged(name, f'{what}: instructions of the floor against ours', 'instructions',
			{BY_NAME[request].code: instructions[request].ratio for request in requests if request in instructions}, 0.95)
	wal = results.get('wal', {})
	for kind, what, bound in (('spread', 'evenly spread', 2.0), ('zipf', 'Zipf-like', 1.5)):
		yield judged('F10', f'WAL for good against V1\'s, {what}', 'wal', {
			title: wal[kind, request, 'blogstore'].bytes / wal[kind, request, 'v1'].bytes
			for title, request in (('like', 'create_like'), ('comment', 'create_comment')) if (kind, request, 'v1') in wal}, bound, most=True)
	yield from first(results)
	sizes = site.sizes
	yield judged('F13', 'bytes on disk against V1', 'size',
		{'': sizes['blogstore'] / sizes['v1']} if 'v1' in sizes else {}, 1.2, most=True)


def first(results):
	"""F12."""
	found = results.get('first') or {None: {}}
	for titles, bound in ((('get_post', 'list_feed'), 2.5), (('create_like',), 3.0)):
		for partitions, sessions in found.items():
			what = f'first request, buffers against a plain table\'s first read{f", {partitions} partitions" if partitions else ""}'
			yield judged('F12', what, 'first', {title: sessions[title].median() / sessions[PLAIN].median()
				for title in titles if PLAIN in sessions}, bound, most=True)


def growth(results):
	"""F7."""
	scales, what = results.get('scaling', []), 'buffers of a request, largest data set against smallest'
	if len(scales) < 2:
		return judged('F7', what, 'scaling', {}, 1.3, most=True)
	found = {request.name: scales[-1].costs[request.name, 'blogstore'].buffers / scales[0].costs[request.name, 'blogstore'].buffers
		for request in REQUESTS if (request.name, 'blogstore') in scales[0].costs}
	most = max(found, key=found.get)
	return judged('F7', f'{what}, scale {scales[0].scale:g} to {scales[-1].scale:g}', 'scaling', {most: found[most]}, 1.3, most=True)


def throughput(site, options, results):
	"""F1, F2, F3: calls a second against the floor."""
	timing = results.get('timing')
	by_name = {contestant.name: contestant for contestant in site.contestants}
	for name, what, requests, bound in (('F1', 'one item', ONE, 0.95), ('F2', 'lists', LISTS, 0.95),
			('F3', 'commands against the floor\'s INSERT', ('create_user', 'create_post', 'create_comment', 'create_like'), 0.75)):
		for clients in options.clients:
			found = {BY_NAME[request].code: timing.ratio(BY_NAME[request], by_name['blogstore'], by_name['floor'], clients)
				for request in requests if timing and (request, 'floor', clients) in timing.tps}
			yield judged(name, f'{what}: calls a second against the floor, {clients} client{"s" if clients > 1 else ""}', 'requests', found, bound)


def viral(results):
	"""F4."""
	return judged('F4', 'likes of one post against likes spread over many, 64 clients', 'viral',
		{'': results['viral'][1]} if 'viral' in results else {}, 1.0)


def freshness(results):
	"""F5."""
	what, bound, part = 'commit to visible, p99: idle, at full write load', 'at most 3 ms, 50 ms', 'freshness'
	if part not in results:
		return absent('F5', what, bound, part)
	idle, full = (results[part][at].percentile(99) for at in (0, -1))
	return Figure('F5', what, bound, f'{idle:.1f} ms, {full:.1f} ms', idle <= 3 and full <= 50, part)


def rebuild(results):
	"""F6."""
	_, views, plain = results.get('rebuild', (0, 0, 0))
	return judged('F6', 'rebuild_views() against CREATE TABLE AS and its index', 'rebuild', {'': plain / views} if views else {}, 0.6)


def against_v1(site, results):
	"""F9."""
	timing = results.get('timing')
	by_name = {contestant.name: contestant for contestant in site.contestants}
	return judged('F9', 'queries: V1 takes so many times as long, 1 client', 'requests',
		{request.code: timing.ratio(request, by_name['blogstore'], by_name['v1'], 1) for request in REQUESTS
		if timing and not request.writes and (request.name, 'v1', 1) in timing.tps}, 1.0)


def units(site, results):
	"""Comments and likes, all in all."""
	costs = results.get('costs', {})
	found = {BY_NAME[name].code: costs[name, 'blogstore'].units(costs[name, 'blogstore'].wal_all) / costs[name, 'v1'].units(costs[name, 'v1'].wal_all)
		for name in ('create_comment', 'create_like') if (name, 'v1') in costs}
	return judged('units', 'comment and like: request units with commit and views against V1\'s', 'requests', found, 1.5, most=True)


def imported(site):
	"""Import has a bound, too."""
	done = site.imported
	return judged('import', 'import() against INSERT ... SELECT of the same rows', 'import', {'': done.plain / done.blogstore} if done else {}, 0.5)


def tracking(results):
	"""And so have the statistics."""
	what, bound, part = 'calls of Q2 in a second gained by switching stat_requests off', 'at most 2 %', 'tracking'
	if part not in results:
		return absent('statistics', what, bound, part)
	gain = results[part][2]
	return Figure('statistics', what, bound, f'{100 * gain:.1f} %', gain <= 0.02, part)
