"""The figures to reach, and their measured values."""

import statistics
from typing import NamedTuple

from .contestants import BLOGSTORE, BY_NAME, JOINED, REQUESTS
from .first import NAMES, PLAIN
from .verified import exponent

LISTS = ('list_user_posts', 'list_post_comments', 'list_post_likes', 'list_feed')
ONE_ROW = ('get_user', *LISTS)
TO_V1 = ('get_post', *LISTS)
CREATED, COUNTED = ('create_user', 'create_post'), ('create_comment', 'create_like')
NOT_MEASURED = 'not measured'


class Figure(NamedTuple):
	"""A line of the table of figures."""
	name: str
	what: str
	bound: str
	measured: str
	reached: bool		# None: not measured
	part: str			# which measures it


def absent(name, what, bound, part):
	"""Return a figure that was not measured."""
	return Figure(name, what, bound, NOT_MEASURED, None, part)


def spread(values):
	"""Return the text for values of all rounds: median, minimum and maximum.
	"""
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
	"""Yield all figures, in order."""
	timing = results.get('timing')
	by_name = {contestant.name: contestant for contestant in site.contestants}

	def against(peer, requests, clients):
		"""Return the calls per second relative to a peer's, for the measured
		requests.
		"""
		return {BY_NAME[request].code: timing.ratios(BY_NAME[request], by_name['blogstore'], by_name[peer], clients)
			for request in requests if timing and (request, peer, clients) in timing.tps}

	yield from floor(options, against)
	yield from plain_sql(options, results, against)
	yield from commands(options, against)
	yield judged('F4', 'likes of one post or comment against likes spread over all, 64 clients', 'viral',
		{'post': results['viral'].ratios('blogstore'), 'comment': results['viral'].comment_ratios()} if 'viral' in results else {}, 0.95)
	yield freshness(results)
	_, views, plain = results.get('rebuild', (0, [], []))
	yield judged('F6', 'rebuild_views() against CREATE TABLE AS and its index', 'rebuild',
		{'': [theirs / ours for theirs, ours in zip(plain, views)]} if views else {}, 0.5)
	yield growth(results)
	yield absent('F8', 'memory of the worker while 10 million changes are decoded', 'at most logical_decoding_work_mem + 64 MB',
		'test/t/018_large_transactions.pl, for fewer')
	yield from wal(results)
	yield from first(results)
	# the size of a data set that was made only for other parts is not judged
	sizes = site.sizes if 'size' in options.only else {}
	yield judged('F13', 'bytes on disk against V1', 'size', {'': sizes['blogstore'] / sizes['v1']} if 'v1' in sizes else {}, 1.3, most=True)
	yield from traffic(results)
	yield from verify(results)
	yield judged('topics', 'time of a page of a topic\'s posts against one of a user\'s, 1 client', 'topics',
		{'': results['topics'].ratios()} if 'topics' in results else {}, 2.5, most=True)


def floor(options, against):
	"""F1."""
	for clients in options.clients:
		for what, requests, bound in (('one user, lists', ONE_ROW, 0.8), ('Q2, which reads two rows', ('get_post',), 0.75)):
			yield judged('F1', f'{what}: calls a second against the floor, {clients} client{"s" if clients > 1 else ""}', 'requests',
				against('floor', requests, clients), bound)


def plain_sql(options, results, against):
	"""F2."""
	for clients in options.clients:
		at = f'{clients} client{"s" if clients > 1 else ""}'
		yield judged('F2', f'calls a second against V1, {at}', 'requests', against('v1', TO_V1, clients), 1.0)
		joined = results.get('joined')
		yield judged('F2', f'calls a second against a join with counters, {at}', 'joined',
			{'Q2': joined.ratios(BY_NAME['get_post'], BLOGSTORE, JOINED, clients)} if joined else {}, 1.0)


def commands(options, against):
	"""F3."""
	clients = max(options.clients)
	yield judged('F3', f'commands: calls a second against the floor\'s INSERT, {clients} clients', 'requests',
		against('floor', CREATED + COUNTED, clients), 0.55)
	for requests, bound in ((CREATED, 0.6), (COUNTED, 0.9)):
		yield judged('F3', f'commands: calls a second against V2, {clients} clients', 'requests', against('v2', requests, clients), bound)


def freshness(results):
	"""F5."""
	what, bound, part = 'commit to visible, p99: idle, at full write load', 'at most 3 ms, 50 ms', 'freshness'
	if part not in results:
		return absent('F5', what, bound, part)
	idle, full = (results[part][at].percentile(99) for at in (0, -1))
	return Figure('F5', what, bound, f'{idle:.1f} ms, {full:.1f} ms', idle <= 3 and full <= 50, part)


def growth(results):
	"""F7."""
	scales, what = results.get('scaling', []), 'buffers of a request, largest data set against smallest'
	if len(scales) < 2:
		return judged('F7', what, 'scaling', {}, 1.5, most=True)
	found = {request.name: scales[-1].costs[request.name, 'blogstore'].buffers / scales[0].costs[request.name, 'blogstore'].buffers
		for request in REQUESTS if (request.name, 'blogstore') in scales[0].costs}
	most = max(found, key=found.get)
	return judged('F7', f'{what}, scale {scales[0].scale:g} to {scales[-1].scale:g}', 'scaling', {most: found[most]}, 1.5, most=True)


def wal(results):
	"""F10."""
	found = results.get('wal', {})
	for kind, what, bound in (('spread', 'evenly spread', 2.1), ('zipf', 'Zipf-like', 1.75)):
		yield judged('F10', f'WAL for good against V1\'s, {what}', 'wal',
			{title: [mine.bytes / theirs.bytes for mine, theirs in zip(found[kind, request, 'blogstore'], found[kind, request, 'v1'])]
			for title, request in (('like', 'create_like'), ('comment', 'create_comment')) if (kind, request, 'v1') in found}, bound, most=True)


def first(results):
	"""F12."""
	found = results.get('first') or {}
	fewest, most = min(found, default=None), max(found, default=None)
	what = 'first request of a session, buffers'
	for titles, bound in ((('get_post', 'list_feed'), 2.5), (('create_like',), 3.5)):
		yield judged('F12', f'{what} against a plain table\'s' + (f', {fewest} partitions' if found else ''), 'first',
			{title: found[fewest][title].median() / found[fewest][PLAIN].median() for title in titles if found}, bound, most=True)
	yield judged('F12', what + (f', {most} partitions against {fewest}' if most != fewest else ', with most partitions against fewest'), 'first',
		{title: found[most][title].median() / found[fewest][title].median() for title in NAMES if most != fewest}, 1.3, most=True)


def traffic(results):
	"""F14."""
	found = results.get('traffic')
	during = f'{found.seconds:,} s of' if found else 'an hour of'
	yield judged('F14', f'{during} mixed traffic: size against the same data freshly imported', 'traffic',
		{'': found.after / found.fresh} if found else {}, 1.3, most=True)
	yield judged('F14', f'{during} mixed traffic: p99 of the last sixth to the first, against a plain table\'s', 'traffic',
		found.slower_than_plain() if found else {}, 1.2, most=True)


def verify(results):
	"""F16."""
	largest = [of for of in results.get('scaling', []) if of.verified][-1:]
	yield judged('F16', 'verify() against plain SQL that counts the same rows, items a second' + ''.join(f', scale {of.scale:g}' for of in largest), 'scaling',
		{f'{of.verified.items:,} items': of.verified.ratios() for of in largest}, 0.5)
	_, found = results.get('verify', (None, None))
	yield judged('F16', 'verify(): time grows by this power of the number of partitions', 'verify',
		{f'to {max(found):,}': exponent(found, lambda of: statistics.median(of.times))} if found else {}, 1.2, most=True)
