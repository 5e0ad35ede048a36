"""The parts, each of which measures one machine beside a cluster, in rounds.
"""

import os
import re
import statistics
import time
from typing import NamedTuple

from lib import pgbench
from lib.program import turns
from lib.server import Failure, say
from run_lib.check import compare
from run_lib.contestants import BY_NAME, fill_in

from . import keys
from .data import SQL
from .measure import PLACES, Target
from .systems import DATABASE

# writes whose CPU time is measured while many clients send them
TOGETHER = ('create_like', 'create_comment')
# requests that any node gets for any key; the model needs their costs
ANY = ('get_post', 'create_like')
MARK = '--answer--'


class Moved(NamedTuple):
	"""Times of calls in ms around a move, by place."""
	seconds: float			# the move took
	before: list
	during: list
	after: list


def requests(one, cluster, options, results):
	"""Measure each request on one machine and at each place, in turn: (nodes,
	request, place) -> [Result].
	"""
	for request in keys.REQUESTS:
		asked = [(runner, place) for runner in (one, cluster) for place in runner.places(request)]
		if request.name in ANY:
			asked.append((cluster, 'any'))
		calls = {(runner, place): runner.calls_for(request, place, 1) for runner, place in asked}
		for number in range(options.rounds):
			for runner, place in turns(asked, number):
				result = runner.run(request, place, 1, calls[runner, place], number)
				# one machine's figures beside this cluster
				results.setdefault((cluster.system.nodes_number, request.name, place), []).append(result)
				say(f'round {number + 1}: {request.name}, {runner.system.title}, {PLACES[place]}: {result.tps:,.0f}/s, {result.cpu:.0f} us of processors')


def writes(one, cluster, options, results):
	"""Measure the cost of writes, without autovacuum: in one run it would
	clean up after other runs.
	"""
	systems = one.system, cluster.system
	for system in systems:
		system.change(autovacuum='off')
	try:
		all_at_once(one, cluster, options, results)
	finally:
		for system in systems:
			system.change(autovacuum=None)


def all_at_once(one, cluster, options, results):
	"""Write to all nodes at the same time: (nodes, request, way) -> [(calls
	per second, processor time per call)].

	The ways 'here' and 'together' have no rate limit; one machine has as many
	clients as all nodes. In the ways 'here, paced' and 'together, paced' each
	server has the same rate and number of clients.
	"""
	for name in TOGETHER:
		request = BY_NAME[name]
		ways = []
		for runner, way, clients in ((one, 'here', options.clients * len(cluster.system.holders)), (cluster, 'together', options.clients)):
			ways += [(runner, way, clients, runner.calls_for(request, 'here' if runner is one else 'direct', clients), None),
				(runner, way + ', paced', options.clients, runner.calls_at(request, options.clients), options.write_rate)]
		for number in range(options.rounds):
			for runner, way, clients, calls, rate in turns(ways, number):
				results.setdefault((cluster.system.nodes_number, name, way), []).append(runner.together(request, clients, calls, rate))


def freshness(one, cluster, options):
	"""Measure ms from commit to visible at the author's home: (one machine's
	times, the cluster's).
	"""
	found = []
	for runner in (one, cluster):
		home = runner.system.holders[0]
		rows = home.psql(DATABASE, '-f', os.path.join(SQL, 'probe.sql'), seconds=options.freshness_seconds,
			elsewhere='true' if len(runner.system.nodes) > 1 else 'false').split()
		found.append([float(row) for row in rows if re.fullmatch(r'[\d.e-]+', row)])
		if not found[-1]:
			raise Failure('no post was seen')
		say(f'freshness, {runner.system.title}: {len(found[-1])} posts, median {statistics.median(found[-1]):.1f} ms')
	return found


def move(cluster, options):
	"""Move a shard to another node and back during likes and reads: (request,
	place) -> Moved.
	"""
	system = cluster.system
	run = {}
	wanted = [('get_post', 'direct'), ('create_like', 'direct'), ('get_post', 'coordinator'), ('create_like', 'coordinator')]
	for number, (name, place) in enumerate(wanted):
		target = cluster.target(BY_NAME[name], place, 0)
		log = os.path.join(target.member.socket, f'move_{name}_{place}')
		run[name, place] = log, cluster.start(BY_NAME[name], target, 1,
			['-T', str(options.move_seconds), '--rate', str(options.move_rate)], number, log)
		cluster.next_numbers(BY_NAME[name], options.move_seconds * options.move_rate * 2)
	time.sleep(options.move_seconds / 4)
	began = time.time()
	for back in (False, True):
		move_largest(system, back)
	ended = time.time()
	late = [key for key, (_, process) in run.items() if process.poll() is not None]
	found = {}
	for key, (log, process) in run.items():
		cluster.finish(BY_NAME[key[0]], process)
		done = pgbench.read_log(log)
		found[key] = Moved(ended - began, *([t.taken for t in done if low <= t.moment < high]
			for low, high in ((0, began), (began, ended + 1), (ended + 1, 1e12))))
	if late:
		say('the move took longer than the calls: take more --move-seconds')
	return found


def move_largest(system, back):
	"""Move the first node's first shard to the second node, or back."""
	one, two = system.nodes[:2]
	source, target = (two, one) if back else (one, two)
	if not back:
		system.moving = one.value("SELECT p.shardid FROM pg_dist_placement p JOIN pg_dist_shard s USING (shardid) JOIN pg_dist_node n USING (groupid) "
			f"WHERE s.logicalrelid = 'blogstore.posts'::regclass AND n.nodeport = {one.port} ORDER BY shardid LIMIT 1")
	for tries in range(10):
		try:
			system.coordinator.sql(DATABASE, f"SELECT citus_move_shard_placement({system.moving}, '{source.socket}', {source.port}, "
				f"'{target.socket}', {target.port}, shard_transfer_mode => 'force_logical')")
			return
		except Failure as failure:
			# A deadlock with a worker has canceled the move, or the resources
			# of an earlier move are not removed yet.
			if tries == 9 or not any(reason in str(failure) for reason in ('deadlock', 'leftover')):
				raise
			system.coordinator.sql(DATABASE, 'CALL citus_cleanup_orphaned_resources()')
			say('the move is tried again')


def answers(one, cluster, options, verdict):
	"""Compare the answers of each member to every query with one machine's,
	all columns, in order.
	"""
	count = 5 if options.quick else 50
	for request in keys.REQUESTS:
		if request.writes:
			continue
		what = keys.key_of(request)
		numbers = one.all_of(what)[:count] if what else [0]
		given = [asked(member, request, what, numbers) for member in [one.system.coordinator, *cluster.system.members]]
		titles = [one.system.title, *(f'{cluster.system.title}, member {number}' for number in range(len(given) - 1))]
		for number, values in enumerate(zip(*given)):
			compare(verdict, f'{request.name}, call {number + 1}', titles, values)
		if not any(given[0]):
			verdict.problems.append(f'{request.name} returns nothing')
	say(f'answers compared: {verdict.checks} checks so far, {len(verdict.problems)} problems')


def asked(member, request, what, numbers):
	"""Return a member's answers. Ids of likes are left out, because each
	system generates its own.
	"""
	text = []
	for number in numbers:
		text += [fill_in(keys.BLOGSTORE.statement(request), {what: number} if what else {}).rstrip().rstrip(';') + ';', f'\\echo {MARK}']
	out = member.psql(DATABASE, '-f', '-', text='\n'.join(text))
	if request.name == 'list_post_likes':
		out = '\n'.join(line.split('\t', 1)[-1] for line in out.split('\n'))
	return out.split(MARK)


def held(runner, verdict):
	"""Check that each acknowledged write is stored once, and that verify()
	finds nothing.
	"""
	system = runner.system
	system.settle()
	rows = dict(system.coordinator.sql(DATABASE, "SELECT type, count(*) FROM blogstore.posts WHERE type IN ('post', 'comment', 'like') GROUP BY type"))
	for kind in ('comment', 'like'):
		verdict.checks += 1
		expected = runner.loaded[kind] + runner.acknowledged.get('create_' + kind, 0)
		if int(rows[kind]) != expected:
			verdict.problems.append(f'{system.title}: {rows[kind]} {kind}s, not {expected}')
	verdict.checks += 1
	verdict.problems += [f'{system.title}: verify(): ' + ' '.join(row) for row in
		system.coordinator.sql(DATABASE, 'SELECT * FROM blogstore.verify() LIMIT 10')]
	say(f'all that is stored compared: {system.title}, {len(verdict.problems)} problems')


def loaded(runner):
	"""Count the comments and likes before anything is measured."""
	counted = runner.system.coordinator.sql(DATABASE, "SELECT type, count(*) FROM blogstore.posts WHERE type IN ('comment', 'like') GROUP BY type")
	runner.loaded = {kind: int(number) for kind, number in counted}
