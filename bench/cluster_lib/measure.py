"""Runs of a request, by the server that is asked."""

import os
import statistics
import time
from typing import NamedTuple

from lib import pgbench
from lib.server import Failure, say

from . import keys
from .systems import DATABASE

# calls until a session has its plans, caches and connections
WARM_UP = 100
FEW = 5					# calls for the same purpose in a quick run
# seconds: longer than blogstore.count_refresh_interval, which is 3
PUT_OFF = 5

PLACES = {
	'here': 'one machine', 'direct': 'direct', 'other': 'another node', 'coordinator': 'coordinator',
	'any': 'any node'}


class Result(NamedTuple):
	"""The results of a run."""
	tps: float
	p50: float				# ms
	p99: float
	cpu: float				# of all members' processes, microseconds a call


class Target(NamedTuple):
	"""The server that is asked, and the keys it is asked for."""
	member: object
	numbers: list


class Runner:
	"""Runs of requests on one system."""

	def __init__(self, system, data, options, beside):
		"""beside is the number of nodes of the cluster.

		One machine is asked for as many keys as all nodes of the cluster
		together.
		"""
		self.system = system
		self.data = data
		self.options = options
		self.warm_up = FEW if options.quick else WARM_UP
		self.numbers = {(member.port, what): keys.chosen(member, what, keys.MOST * (1 if system.nodes else beside))
			for member in system.holders for what in ('post', 'user')}
		if min(map(len, self.numbers.values())) == 0:
			raise Failure('a node has no posts or no users: take a larger --scale, or more --partitions')
		self.stride = min(len(numbers) for (_, what), numbers in self.numbers.items() if what == 'post')
		self.base = {}
		self.acknowledged = {}
		self.beginning = {}			# (request, place, clients) -> seconds of processors, calls
		self.taken = 0
		self.idle = self.idle_rate()

	def idle_rate(self):
		"""Return the processor time per second of an idle system, which is
		subtracted from the cost of calls.
		"""
		pause = 1 if self.options.quick else 10
		before = self.system.processor_seconds()
		time.sleep(pause)
		return (self.system.processor_seconds() - before) / pause

	def places(self, request):
		"""Return the places at which a request can be asked."""
		if not self.system.nodes:
			return ['here']
		if keys.key_of(request) is None or request.name in ('get_user', 'create_post') or len(self.system.nodes) == 1:
			return ['direct', 'coordinator']
		return ['direct', 'other', 'coordinator']

	def all_of(self, what):
		"""Return keys of all nodes, as many as one node has."""
		found = [number for member in self.system.holders for number in self.numbers[member.port, what]]
		step = max(1, len(found) // keys.MOST)
		return found[::step]

	def target(self, request, place, number):
		"""Return the target of a round. The nodes take turns."""
		holders = self.system.holders
		owner = holders[number % len(holders)]
		what = keys.key_of(request) or 'user'
		if place in ('coordinator', 'any'):
			return Target(self.system.coordinator if place == 'coordinator' else owner, self.all_of(what))
		asked = holders[(number + 1) % len(holders)] if place == 'other' else owner
		return Target(asked, self.numbers[owner.port, what])

	def start(self, request, target, clients, amount, seed, log=None):
		"""Start pgbench. amount is its option for the number of calls or the
		duration.
		"""
		path = keys.script(request, target.numbers, os.path.join(target.member.socket, f'{request.name}_{target.member.port}.sql'))
		base = self.base.get(request.name, 0)
		variables = {'users': self.data.users, 'most_likes': self.data.most_likes, 'default_seed': self.data.seed,
			'i': 0, 'clients': clients, 'base': base, 'stride': self.stride}
		options = ['--random-seed', str(seed + 1), *amount]
		if log:
			options += ['--log', '--log-prefix=' + log]
		return pgbench.start(target.member, pgbench.command(target.member, DATABASE, path, clients, options, variables))

	def finish(self, request, process):
		"""Wait for pgbench, and count acknowledged writes."""
		done = pgbench.finish(process)
		if request.writes:
			self.acknowledged[request.name] = self.acknowledged.get(request.name, 0) + done.transactions
		return done

	def next_numbers(self, request, used):
		"""Advance the numbers of writes by those used.

		The next run likes each post by users that have not liked it yet.
		"""
		base = self.base.get(request.name, 0) + used
		self.base[request.name] = -(-base // self.stride) * self.stride
		if request.name == 'create_like' and self.base[request.name] // self.stride >= self.data.users - self.data.most_likes:
			raise Failure('there are no more users who have not liked a post: take a larger --scale')

	def run(self, request, place, clients, calls, number):
		"""Run this number of calls per client, after the warm-up."""
		target = self.target(request, place, number)
		log = os.path.join(target.member.socket, 'log')
		cpu, done = self.spent(request, [(target, clients, calls + self.warm_up, number, log)], self.follow)
		tps, times = pgbench.steady(pgbench.read_log(log), self.warm_up)
		return Result(tps, statistics.median(times), pgbench.percentile(times, 99), self.of_call(cpu, done, request, place, clients))

	def spent(self, request, runs, rest, pace=()):
		"""Execute runs at the same time, each given as (target, clients, calls
		per client, seed, log).

		Return the processor time until the system is at rest, and the number
		of calls.
		"""
		began, before = time.monotonic(), self.system.processor_seconds()
		running = [self.start(request, target, clients, ['-t', str(calls), *pace], seed, log) for target, clients, calls, seed, log in runs]
		done = [self.finish(request, process).transactions for process in running]
		self.taken = time.monotonic() - began
		if request.writes:
			self.next_numbers(request, max(done))
			rest()
		return self.system.processor_seconds() - before - self.idle * (time.monotonic() - began), sum(done)

	def of_call(self, cpu, done, request, place, clients):
		"""Return the processor time per call in microseconds, without that of
		session starts and warm-up if it is known.
		"""
		less, fewer = self.beginning.get((request.name, place, clients), (0, 0))
		return 1e6 * (cpu - less) / (done - fewer)

	def follow(self):
		"""Wait until the views are up to date."""
		if self.system.coordinator.value("SELECT blogstore.wait_for_views('1 hour')") != 't':
			raise Failure('the views do not follow:\n' + self.system.coordinator.end_of_log())

	def rest(self):
		"""Wait until deferred work is done as well. A query for its state
		would cost more than the pause.
		"""
		self.follow()
		time.sleep(0.5 if self.options.quick else PUT_OFF)

	def calls_for(self, request, place, clients):
		"""Return the number of calls per client for a run of about the
		requested length.
		"""
		if self.options.quick:
			return 20
		self.begin(request, place, clients)
		tps = self.run(request, place, clients, 200 // clients, 0).tps
		return self.within_room(request, int(tps * self.options.seconds / clients), clients)

	def calls_at(self, request, clients):
		"""Return the number of calls per client for a run of the requested
		length at the rate of writes.
		"""
		if self.options.quick:
			return 20
		return self.within_room(request, self.options.write_rate * self.options.seconds // clients, clients)

	def within_room(self, request, calls, clients):
		"""Limit the calls so that all runs together find enough users that
		have not liked a post.
		"""
		if request.name == 'create_like':
			room = self.stride * (self.data.users - self.data.most_likes)
			calls = min(calls, room // (16 * clients * self.options.rounds))
		return max(calls, 50)

	def begin(self, request, place, clients):
		"""Measure the processor time of session starts and warm-up alone."""
		targets, rest = [self.target(request, place, 0)], self.follow
		if place == 'together':
			targets, rest = [self.own(request, member) for member in self.system.holders], self.rest
		self.beginning[request.name, place, clients] = self.spent(request,
			[(target, clients, self.warm_up, number, None) for number, target in enumerate(targets)], rest)

	def own(self, request, member):
		"""Return a target that asks a node for its own keys."""
		return Target(member, self.numbers[member.port, keys.key_of(request)])

	def together(self, request, clients, calls, rate=None):
		"""Ask all nodes at the same time, each for its own keys and by this
		number of clients, at a rate of calls per second per server or without
		a limit.

		Return the calls per second of all, and the processor time per call in
		microseconds.
		"""
		if not self.options.quick and (request.name, 'together', clients) not in self.beginning:
			self.begin(request, 'together', clients)
		cpu, done = self.spent(request, [(self.own(request, member), clients, calls + self.warm_up, number, None)
			for number, member in enumerate(self.system.holders)], self.rest, ['--rate', str(rate)] if rate else ())
		tps, cpu = done / self.taken, self.of_call(cpu, done, request, 'together', clients)
		say(f'{request.name}, {self.system.title}: {tps:,.0f}/s, {cpu:.0f} us of processors a call')
		return tps, cpu
