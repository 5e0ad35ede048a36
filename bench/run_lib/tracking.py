"""What statistics take: calls with them and without, in turn within one session."""

import os
import statistics
from typing import NamedTuple

from lib import pgbench
from lib.server import Failure, say

from .contestants import BY_NAME, script

BLOCK = 100				# calls between two changes of the setting: a few milliseconds, so that both meet the same machine
FIRST = 6				# blocks of each in which the statements get their plans
SETTINGS = ('on', 'off')


class Tracked(NamedTuple):
	"""Microseconds of a call: the medians of each round's blocks."""
	counted: list
	uncounted: list

	def gains(self):
		"""By how much calls a second without statistics are more, by rounds."""
		return [counted / uncounted - 1 for counted, uncounted in zip(self.counted, self.uncounted)]


def block(site, contestant, request, setting):
	"""Write a script of many calls with a setting."""
	once = script(request, contestant, os.path.join(site.server.socket, 'once.sql'))
	path = os.path.join(site.server.socket, f'statistics_{setting}.sql')
	with open(once, encoding='utf-8') as text, open(path, 'w', encoding='utf-8') as out:
		out.write(f'SET blogstore.track_requests = {setting};\n' + text.read() * BLOCK)
	return path


def tracking(site, options, _workplace):
	"""Calls of get_post by one client: Tracked."""
	request = BY_NAME['get_post']
	contestant = site.contestant('blogstore')
	paths = [block(site, contestant, request, setting) for setting in SETTINGS]
	log = os.path.join(site.server.socket, 'log')
	amount = ['-t', '40'] if options.quick else ['-T', str(options.seconds)]
	found = Tracked([], [])
	for number in range(options.rounds if options.quick else 5 * options.rounds):
		call = pgbench.command(site.server, site.database, paths[0], 1, ['-f', paths[1], *amount,
			'--random-seed', str(1 + site.seed + number), '--log', '--log-prefix=' + log], site.variables())
		pgbench.finish(pgbench.start(site.server, call, PGOPTIONS=contestant.options()))
		done = pgbench.read_log(log)
		for of, times in enumerate(found):
			taken = [one.taken for one in done if one.script == of][FIRST:]
			if not taken:
				raise Failure(f'too few calls with blogstore.track_requests {SETTINGS[of]}')
			times.append(statistics.median(taken) * 1000 / BLOCK)
	say(f'get_post with statistics {statistics.median(found.counted):.1f} us, without {statistics.median(found.uncounted):.1f} us')
	return found
