"""The figures to reach, and what was measured of them."""

import statistics
from typing import NamedTuple

from lib.report import ratio

from .contestants import BY_NAME, REQUESTS
from .first import PLAIN
from .slices import growth as growth_of_slices
from .verified import exponent

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


def spread(values):
	"""What is said of the rounds: their median, with the least and the most."""
	return f'{statistics.median(values):.2f}' + (f' ({min(values):.2f}-{max(values):.2f})' if len(values) > 1 else '')


def judged(name, what, part, found, bound, most=False):
	"""A figure of one ratio or more by name, each of which has a bound: the least it may be, or the most.

	A ratio that was measured in rounds is a list of theirs, whose median counts.
	"""
	said = f'at {"most" if most else "least"} {bound:.2f}'
	rounds = {key: value if isinstance(value, list) else [value] for key, value in found.items()}
	if not rounds:
		return absent(name, what, said, part)
	medians = [statistics.median(values) for values in rounds.values()]
	return Figure(name, what, said, ', '.join(f'{key} {spread(values)}' for key, values in rounds.items()),
		max(medians) <= bound if most else min(medians) >= bound, part)


def reached(site, options, results):
	"""All figures, those that are counted first."""
	return [
		*counted(results), sizes(site, options), growth(results), dirtied(results), partitions(results),
		*throughput(site, options, results), viral(results), freshness(results), rebuild(results),
		absent('F8', 'memory of the worker while 10 million changes are decoded', 'at most logical_decoding_work_mem + 64 MB',
			'test/t/018_large_transactions.pl, for fewer'),
		against_v1(site, results),
		*traffic(results), *slices(results), *verify(results),
		units(site, results), imported(site, options), tracking(results),
	]


def counted(results):
	"""F1, F2 by instructions; F10, F12."""
	instructions = results.get('instructions') or {}
	for name, what, requests in (('F1', 'one item', ONE), ('F2', 'lists', LISTS)):
		yield judged(name, f'{what}: instructions of the floor against ours', 'instructions',
			{BY_NAME[request].code: instructions[request].ratio for request in requests if request in instructions}, 0.95)
	wal = results.get('wal', {})
	for kind, what, bound in (('spread', 'evenly spread', 2.0), ('zipf', 'Zipf-like', 1.5)):
		pairs = {title: list(zip(wal[kind, request, 'blogstore'], wal[kind, request, 'v1']))
			for title, request in (('like', 'create_like'), ('comment', 'create_comment')) if (kind, request, 'v1') in wal}
		yield judged('F10', f'WAL for good against V1\'s, {what}', 'wal',
			{title: [mine.bytes / theirs.bytes for mine, theirs in of] for title, of in pairs.items()}, bound, most=True)
		yield judged('F10', f'time of processors for good against V1\'s, {what}', 'wal',
			{title: [ratio(mine.taken, theirs.taken) for mine, theirs in of] for title, of in pairs.items()}, 1.2, most=True)
	yield from first(results)


def sizes(site, options):
	"""F13; of a data set that was made for other parts alone nothing is said."""
	found = site.sizes if 'size' in options.only else {}
	return judged('F13', 'bytes on disk against V1', 'size',
		{'': found['blogstore'] / found['v1']} if 'v1' in found else {}, 1.2, most=True)


def first(results):
	"""F12."""
	found = results.get('first') or {None: {}}
	for titles, bound in ((('get_post', 'list_feed'), 2.5), (('create_like',), 3.0)):
		for partitions, sessions in found.items():
			what = f'first request, buffers against a plain table\'s first read{f", {partitions} partitions" if partitions else ""}'
			figure = judged('F12', what, 'first', {title: sessions[title].median() / sessions[PLAIN].median()
				for title in titles if PLAIN in sessions}, bound, most=True)
			if PLAIN in sessions:
				figure = figure._replace(measured=figure.measured + '; ms ' + ', '.join(
					f'{statistics.median(sessions[title].times):.2f}' for title in titles) + f' against {statistics.median(sessions[PLAIN].times):.2f}')
			yield figure


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
			found = {BY_NAME[request].code: timing.ratios(BY_NAME[request], by_name['blogstore'], by_name['floor'], clients)
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
	_, views, plain = results.get('rebuild', (0, [], []))
	return judged('F6', 'rebuild_views() against CREATE TABLE AS and its index', 'rebuild',
		{'': [theirs / ours for theirs, ours in zip(plain, views)]} if views else {}, 0.6)


def dirtied(results):
	"""F11."""
	found = results.get('dirtied')
	return judged('F11', 'pages dirtied by likes between two checkpoints, against V1' + (f', {found["v1"].likes:,} likes' if found else ''), 'dirtied',
		{'': found['blogstore'].pages / found['v1'].pages} if found else {}, 1.2, most=True)


def partitions(results):
	"""F16 by what is counted: quadratic would be 2."""
	_, found = results.get('verify', (None, None))
	return judged('F16', 'verify(): buffers grow by this power of the number of partitions', 'verify',
		{f'to {max(found):,}': exponent(found, lambda of: of.buffers)} if found else {}, 1.2, most=True)


def verify(results):
	"""F16 by the clock."""
	what = 'verify() against plain SQL that counts the same rows, items a second'
	against, found = results.get('verify', (None, None))
	yield judged('F16', what, 'verify', {f'{against.items:,} items': against.ratios()} if against else {}, 0.5)
	for largest in [of for of in results.get('scaling', []) if of.verified][-1:]:
		yield judged('F16', f'{what}, scale {largest.scale:g}', 'scaling', {f'{largest.verified.items:,} items': largest.verified.ratios()}, 0.5)
	yield judged('F16', 'verify(): time grows by this power of the number of partitions', 'verify',
		{f'to {max(found):,}': exponent(found, lambda of: statistics.median(of.times))} if found else {}, 1.2, most=True)


def traffic(results):
	"""F14."""
	found = results.get('traffic')
	during = f'{found.seconds:,} s of' if found else 'an hour of'
	yield judged('F14', f'{during} mixed traffic: size against the same data freshly imported', 'traffic',
		{'': found.after / found.fresh} if found else {}, 1.3, most=True)
	yield judged('F14', f'{during} mixed traffic: p99 of the last sixth against the first', 'traffic', found.slower() if found else {}, 1.2, most=True)
	yield judged('F14', f'{during} mixed traffic: the same against a plain table\'s in the same run', 'traffic',
		found.slower_than_plain() if found else {}, 1.2, most=True)


def slices(results):
	"""F15: time decides; WAL is counted beside it."""
	found = results.get('slices', {}).get('blogstore')
	each = [of.seconds / of.items for of in found if of.items] if found else []
	wal = [of.wal / of.items for of in found if of.items] if found else []
	yield judged('F15', 'import(): the 20th slice against the first, time an item', 'slices',
		{'': growth_of_slices(each)[0]} if found else {}, 1.3, most=True)
	yield judged('F15', 'import(): medians of the last three slices against the first three', 'slices',
		{'time': growth_of_slices(each)[1], 'WAL': growth_of_slices(wal)[1]} if found else {}, 1.3, most=True)


def against_v1(site, results):
	"""F9."""
	timing = results.get('timing')
	by_name = {contestant.name: contestant for contestant in site.contestants}
	return judged('F9', 'queries: V1 takes so many times as long, 1 client', 'requests',
		{request.code: timing.ratios(request, by_name['blogstore'], by_name['v1'], 1) for request in REQUESTS
		if timing and not request.writes and (request.name, 'v1', 1) in timing.tps}, 1.0)


def units(site, results):
	"""Comments and likes, all in all."""
	costs = results.get('costs', {})
	found = {BY_NAME[name].code: costs[name, 'blogstore'].units(costs[name, 'blogstore'].wal_all) / costs[name, 'v1'].units(costs[name, 'v1'].wal_all)
		for name in ('create_comment', 'create_like') if (name, 'v1') in costs}
	return judged('units', 'comment and like: request units with commit and views against V1\'s', 'requests', found, 1.5, most=True)


def imported(site, options):
	"""Import has a bound, too."""
	done = site.imported if 'import' in options.only else None
	return judged('import', 'import() against INSERT ... SELECT of the same rows', 'import', {'': done.plain / done.blogstore} if done else {}, 0.5)


def tracking(results):
	"""And so have the statistics."""
	what, bound, part = 'calls of Q2 in a second gained by switching stat_requests off', 'at most 2 %', 'tracking'
	if part not in results:
		return absent('statistics', what, bound, part)
	gain = statistics.median(results[part].gains())
	return Figure('statistics', what, bound, f'{100 * gain:.1f} %', gain <= 0.02, part)
