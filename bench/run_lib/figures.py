"""The figures to reach, and what was measured of them."""

from typing import NamedTuple

from .contestants import BY_NAME, REQUESTS


class Figure(NamedTuple):
	"""One line of the table."""
	name: str
	what: str
	bound: str
	measured: str
	reached: bool = None	# None: not measured


def reached(site, options, results):
	"""All figures."""
	by_name = {contestant.name: contestant for contestant in site.contestants}
	return [
		*ratios(by_name, options, results),
		viral(results), freshness(results), rebuild(results), growth(results),
		Figure('F8', 'memory of the worker while a large transaction is decoded', '', 'see test/t/018_large_transactions.pl'),
		against_v1(by_name, results), cost_of_writes(by_name, results),
		imported(site), tracking(results),
	]


def ratios(by_name, options, results):
	"""F1, F2, F3: throughput against the floor."""
	most = max(options.clients)
	for name, what, requests, clients, bound in (
			('F1', 'retrieving one item against the floor, 1 client', ('get_user', 'get_post'), 1, 0.95),
			('F2', 'lists against the floor, 1 client',
				('list_user_posts', 'list_post_comments', 'list_post_likes', 'list_feed'), 1, 0.95),
			('F3', f'comment and like against the floor\'s INSERT, {most} clients', ('create_comment', 'create_like'), most, 0.70)):
		timing = results.get('timing')
		found = {BY_NAME[request].code: timing.ratio(BY_NAME[request], by_name['blogstore'], by_name['floor'], clients)
			for request in requests if timing and (request, 'floor', clients) in timing.tps}
		yield Figure(name, what, f'at least {bound:.2f}', listed(found), min(found.values()) >= bound if found else None)


def listed(found):
	"""Values by request."""
	return ', '.join(f'{code} {value:.2f}' for code, value in found.items()) or 'not measured'


def viral(results):
	"""F4."""
	what = 'likes of one post against likes spread over many, 64 clients'
	if 'viral' not in results:
		return Figure('F4', what, 'at least 0.90', 'not measured')
	ratio = results['viral'][1]
	return Figure('F4', what, 'at least 0.90', f'{ratio:.2f}', ratio >= 0.9)


def freshness(results):
	"""F5."""
	what, bound = 'commit to visible, p99: idle, at full write load', 'at most 10 ms, 250 ms'
	if 'freshness' not in results:
		return Figure('F5', what, bound, 'not measured')
	idle, full = (results['freshness'][at].percentile(99) for at in (0, -1))
	return Figure('F5', what, bound, f'{idle:.1f} ms, {full:.1f} ms', idle <= 10 and full <= 250)


def rebuild(results):
	"""F6."""
	what, bound = 'rebuild_views() against CREATE TABLE AS and its index', 'at least 0.50'
	if 'rebuild' not in results:
		return Figure('F6', what, bound, 'not measured')
	_, views, plain = results['rebuild']
	return Figure('F6', what, bound, f'{plain / views:.2f}', plain / views >= 0.5)


def growth(results):
	"""F7."""
	what, bound = 'buffers of a request, largest data set against smallest', 'at most 1.30'
	scales = results.get('scaling', [])
	if len(scales) < 2:
		return Figure('F7', what, bound, 'not measured')
	found = {request.name: scales[-1].costs[request.name, 'blogstore'].buffers / scales[0].costs[request.name, 'blogstore'].buffers
		for request in REQUESTS if (request.name, 'blogstore') in scales[0].costs}
	most = max(found, key=found.get)
	return Figure('F7', what, bound, f'{found[most]:.2f} ({most}), scale {scales[0].scale:g} to {scales[-1].scale:g}', found[most] <= 1.3)


def against_v1(by_name, results):
	"""F9, the queries."""
	timing = results.get('timing')
	found = {request.code: timing.ratio(request, by_name['blogstore'], by_name['v1'], 1) for request in REQUESTS
		if timing and not request.writes and (request.name, 'v1', 1) in timing.tps}
	return Figure('F9', 'queries: V1 takes so many times as long, 1 client', 'more than 1 each', listed(found),
		min(found.values()) > 1 if found else None)


def cost_of_writes(by_name, results):
	"""F9, comments and likes."""
	what, bound = 'comment and like: request units against V1\'s (with commit and views)', 'at most 1.50'
	costs, found, everything = results.get('costs', {}), {}, {}
	for name in ('create_comment', 'create_like'):
		if (name, 'v1') in costs:
			mine, theirs = costs[name, by_name['blogstore'].name], costs[name, 'v1']
			found[BY_NAME[name].code] = mine.units(mine.wal) / theirs.units(theirs.wal)
			everything[BY_NAME[name].code] = mine.units(mine.wal_all) / theirs.units(theirs.wal_all)
	return Figure('F9', what, bound, listed(found) + (f' ({listed(everything)})' if found else ''),
		max(found.values()) <= 1.5 if found else None)


def imported(site):
	"""Import has a bound, too."""
	ratio = site.imported.plain / site.imported.blogstore
	return Figure('import', 'import() against INSERT ... SELECT of the same rows', 'at least 0.50', f'{ratio:.2f}', ratio >= 0.5)


def tracking(results):
	"""And so have the statistics."""
	what, bound = 'calls of Q2 in a second gained by switching stat_requests off', 'at most 2 %'
	if 'tracking' not in results:
		return Figure('statistics', what, bound, 'not measured')
	gain = results['tracking'][2]
	return Figure('statistics', what, bound, f'{100 * gain:.1f} %', gain <= 0.02)
