"""The WAL of a like and a comment, with commit, folded counts and refreshed
copies.
"""

import bisect
import itertools
import os
import random
import re
import time
from collections import defaultdict
from typing import NamedTuple

from lib import pgbench
from lib.server import Failure, call, say

from .contestants import BY_NAME
from .site import ID
from .small import small_site

USERS = 1000
POSTS = 6000
WRITES = 6000
RATE = 500				# of writes, in a second
# seconds after the last write until all that follows from it is written
TAIL = 13
NAMES = ('create_like', 'create_comment')
# distribution of writes over posts -> exponent e: the nth post takes a share
# of 1 / n^e
SKEWS = {'spread': 0.0, 'zipf': 1.1}

class Written(NamedTuple):
	"""The results for one kind of writes by one contestant."""
	bytes: float			# of WAL, of one of them
	rate: float				# of them, in a second
	# type -> bytes of one write, or nothing where pg_waldump is missing
	records: dict


def targets(kind, number, rounds, count, site, seen):
	"""Return unused pairs of a post's and a user's number for a round.

	Posts come in turn, or some come far more often; the popular ones differ by
	kind and round.
	"""
	choose = random.Random(f'{site.seed} {kind} {number}')
	weights = list(itertools.accumulate(1 / (n + 1) ** SKEWS[kind] for n in range(site.posts)))
	offset = (list(SKEWS).index(kind) * rounds + number) * site.posts // len(SKEWS) // rounds
	for turn in itertools.count():
		post = turn if kind == 'spread' else bisect.bisect(weights, choose.random() * weights[-1], hi=site.posts - 1)
		pair = (post + offset) % site.posts, choose.randrange(site.users)
		if pair not in seen:
			seen.add(pair)
			count -= 1
			yield pair
		if count == 0:
			return


def load_targets(site, rounds, count):
	"""Store the pairs of each round where the scripts read them. This writes
	no WAL while a run is measured.
	"""
	seen = set()
	lines = [f'{kind}\t{n}\t{ID + post + 1}\t{ID + user + 1}' for kind in SKEWS for number in range(rounds)
		for n, (post, user) in enumerate(targets(kind, number, rounds, count, site, seen), number * count + 1)]
	site.sql('\n'.join(['COPY staging.targets FROM STDIN;', *lines, '\\.', '']))
	site.sql('VACUUM (FREEZE, ANALYZE) staging.targets')


def wal(site, options, _workplace):
	"""Measure the WAL of a write: (distribution, request, contestant) -> list
	of Written.
	"""
	users, posts, count = (100, 100, 200) if options.quick else (USERS, POSTS, WRITES)
	other = small_site(site.server, 'wal', options, ('v1', 'blogstore'), (users, posts))
	other.server.change(full_page_writes='off', autovacuum='off')
	load_targets(other, options.rounds, count)
	found = defaultdict(list)
	for number in range(options.rounds):
		for kind, name in itertools.product(SKEWS, NAMES):
			for contestant in other.contestants:
				done = written(other, kind, BY_NAME[name], contestant, (number * count, count), options.quick)
				found[kind, name, contestant.name].append(done)
				say(f'round {number + 1}: {name}, {kind}, {contestant.title}: {done.bytes:,.0f} bytes of WAL each, at {done.rate:,.0f}/s')
	other.worker(True)
	other.server.change(full_page_writes=None, autovacuum=None)
	other.drop()
	return dict(found)


def written(site, kind, request, contestant, which, quick):
	"""Run once, and measure all WAL from before the first write until the
	worker has processed the last one.
	"""
	start, count = which
	path = os.path.join(site.server.socket, f'wal_{contestant.name}_{request.name}.sql')
	with open(path, 'w', encoding='utf-8') as out:
		out.write('\\set i :i + 1\n\\set number :i\n'
			f"SELECT post, \"user\" FROM staging.targets WHERE kind = '{kind}' AND n = :i \\gset\n" + contestant.statement(request))
	rate = [] if quick else ['-R', str(RATE)]
	site.worker(contestant.is_blogstore)
	time.sleep(0.2 if quick else 2)
	before = position(site)
	done = pgbench.finish(pgbench.start(site.server,
		pgbench.command(site.server, site.database, path, 1, ['-t', str(count), *rate], {'i': start}), PGOPTIONS=contestant.options()))
	time.sleep(0 if quick else TAIL)
	site.settle()
	after = position(site)
	if done.transactions != count:
		raise Failure(f'{request.name} of {contestant.title}: {done.transactions} of {count} were written')
	difference = int(site.value(f"SELECT '{after}'::pg_lsn - '{before}'::pg_lsn"))
	return Written(difference / count, done.tps, records(site, before, after, count))


def position(site):
	"""Return the current WAL position."""
	return site.value('SELECT pg_current_wal_insert_lsn()')


def waldump(site, before, after, *options):
	"""Return the command that lists all records between two positions."""
	# the commit flushes all earlier WAL
	site.sql("SELECT pg_logical_emit_message(true, 'bench', '')")
	return [site.server.installation.program('pg_waldump'), *options, f'--path={os.path.join(site.server.data, "pg_wal")}',
		f'--start={before}', f'--end={after}']


def records(site, before, after, count):
	"""Return the bytes per write of each type of record between two positions.
	"""
	command = waldump(site, before, after, '--stats=record')
	if not os.path.exists(command[0]):
		return {}
	out = call(command, user=site.server.installation.user, cwd=site.server.socket)
	rows = re.findall(r'^(\w+/\S+)' + r'\s+(\d+) \([^)]*\)' * 4, out, re.M)
	return {row[0]: int(row[4]) / count for row in rows}
