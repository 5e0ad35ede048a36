"""Check that all contestants give the same answers and store the same data."""

import os

from lib import store
from lib.server import say

from .contestants import REQUESTS, SQL, fill_in

MARK = '--answer--'


def compare(verdict, what, titles, values):
	"""Add a problem unless all values equal the first."""
	verdict.checks += 1
	for title, value in zip(titles[1:], values[1:]):
		if value != values[0]:
			verdict.problems.append(f'{what}: {title} differs from {titles[0]}: {first_difference(value, values[0])}')


def first_difference(one, other):
	"""Return the first lines that differ."""
	for mine, theirs in zip(one.split('\n') + ['nothing'], other.split('\n') + ['nothing']):
		if mine != theirs:
			return f'"{mine[:300]}", not "{theirs[:300]}"'
	return 'more or fewer lines'


def answers(site, verdict, count, contestants, names=None, requests=REQUESTS):
	"""Compare the answers of every query, or of those named, for the same
	keys.

	All columns are compared, in order, except the ids of likes, which each
	contestant generates.
	"""
	for request in requests:
		if request.writes or names and request.name not in names:
			continue
		calls = 1 if request.keys == ('none',) else count
		given = []
		for contestant in contestants:
			statement = contestant.statement(request)
			text = [f'SET search_path = {contestant.schema};']
			for keys in site.keys(calls, 'answers ' + request.name):
				text += [fill_in(statement, keys), f'\\echo {MARK}']
			out = site.server.psql(site.database, '-f', '-', text='\n'.join(text))
			if request.name in ('list_post_likes', 'list_user_likes'):
				out = '\n'.join(line.split('\t', 1)[-1] for line in out.split('\n'))
			given.append(out.split(MARK))
		titles = [contestant.title for contestant in contestants]
		for number, values in enumerate(zip(*given)):
			if number < calls:
				compare(verdict, f'{request.name}, call {number + 1}', titles, values)
		if not any(given[0]):
			verdict.problems.append(f'{request.name} returns nothing')
	say(f'answers compared: {verdict.checks} checks so far, {len(verdict.problems)} problems')


def verify(site, verdict):
	"""Run blogstore.verify() when the worker is idle."""
	site.settle()
	store.verify(site.server, site.database, verdict)


def totals(site, verdict):
	"""Compare all stored data, except generated ids and dates.

	Posts are compared as get_post() returns them. The floor is left out,
	because it keeps no counts.
	"""
	site.settle()
	contestants = [contestant for contestant in site.contestants if contestant.name != 'floor']
	answers(site, verdict, 20, contestants, ('get_post',))
	held = ['\n'.join('\t'.join(row) for row in site.file(os.path.join(SQL, 'totals.sql'), contestant))
		for contestant in contestants]
	compare(verdict, 'all that is stored', [contestant.title for contestant in contestants], held)
	for request in REQUESTS:
		written = {site.written.get((contestant.name, request.name), 0) for contestant in site.contestants}
		if len(written) > 1:
			verdict.problems.append(f'{request.name}: contestants wrote {written}')
	verify(site, verdict)
	say(f'all that is stored compared: {len(verdict.problems)} problems')
