"""Time, buffers and WAL of the requests."""

import json
import os
import statistics
from collections import defaultdict
from typing import NamedTuple

from lib import pgbench
from lib.program import turns
from lib.server import Failure, say

from .contestants import REQUESTS, prepare, script

# request units as blogstore.stat_requests counts them
BUFFERS_PER_UNIT = 4
UNITS_PER_WAL_KB = 5
# calls until a session has its plans and knows most of the tables
WARM_UP = 120
SHORTER = 4					# as many runs of a query in place of one
PLANNED = 10				# calls until a session has its plan
# calls of which the median is taken, because the items of a post are on one
# page or on two
CALLS = 200


class Latency(NamedTuple):
	"""Latencies of calls, in ms."""
	p50: float
	p95: float
	p99: float


class Cost(NamedTuple):
	"""The cost of a call, as medians."""
	buffers: float
	wal: float				# bytes, in the call
	# with the commit, and with what the worker writes: mean of a run
	wal_all: float

	def units(self, wal):
		"""Return request units for an amount of WAL."""
		return self.buffers / BUFFERS_PER_UNIT + wal / 1024 * UNITS_PER_WAL_KB


class Length(NamedTuple):
	"""The number of calls of each client in a run."""
	calls: int
	skipped: int			# the first of them, which do not count


class Timing:
	"""The results of all runs, with a value for each round."""

	def __init__(self):
		self.tps = defaultdict(list)			# (request, contestant, clients)
		self.latency = defaultdict(list)		# the same: Latency

	def throughput(self, request, contestant, clients):
		"""Return the median throughput."""
		return statistics.median(self.tps[request.name, contestant.name, clients])

	def percentiles(self, request, contestant, clients=1):
		"""Return the medians of p50, p95 and p99."""
		return Latency(*(statistics.median(values) for values in zip(*self.latency[request.name, contestant.name, clients])))

	def ratios(self, request, one, other, clients):
		"""Return the ratios of one throughput to another, by round."""
		return [mine / theirs for mine, theirs in zip(
			self.tps[request.name, one.name, clients], self.tps[request.name, other.name, clients])]

	def ratio(self, request, one, other, clients):
		"""Return the median of these ratios."""
		return statistics.median(self.ratios(request, one, other, clients))


def query_rounds(options):
	"""Rounds of the queries, and how long a run of them is, in s: more and shorter ones than of the commands, for what else
	the machine does changes from second to second.
	"""
	return (options.rounds, 0) if options.quick else (options.rounds * SHORTER, options.seconds / SHORTER)


def chosen(options, writes, requests):
	"""Return the selected requests, commands or queries."""
	return [request for request in requests if request.code in options.requests and request.writes == writes]


class Runner:
	"""Runs the requests of a site with pgbench, and counts what they write."""

	def __init__(self, site, options):
		self.site = site
		self.options = options
		self.warm_up, self.calls = (3, 3) if options.quick else (WARM_UP, CALLS)

	def call(self, request, contestant, clients, amount, seed=0, log=None):
		"""Return the command line of pgbench for a request."""
		site = self.site
		path = script(request, contestant, os.path.join(site.server.socket, f'{contestant.name}_{request.name}.sql'))
		variables = site.variables()
		if request.writes:
			variables.update(i=0, clients=clients, base=site.written.get((contestant.name, request.name), 0))
		pgbench_options = [*amount, '--random-seed', str(1 + site.seed + seed)]
		if log:
			pgbench_options += ['--log', '--log-prefix=' + log]
		return pgbench.command(site.server, site.database, path, clients, pgbench_options, variables)

	def start(self, *arguments, **named):
		"""Start pgbench for a request of a contestant."""
		return pgbench.start(self.site.server, self.call(*arguments, **named), PGOPTIONS=arguments[1].options())

	def run(self, request, contestant, clients, amount, seed=0, skip=None):
		"""Run a request by pgbench: throughput, and times in ms, once sessions know their tables: after so many calls, or WARM_UP.

		Writes are to be -t, so that all contestants write the same.
		"""
		log = os.path.join(self.site.server.socket, 'log')
		self.finish(request, contestant, self.start(request, contestant, clients, amount, seed=seed, log=log))
		return pgbench.steady(pgbench.read_log(log), self.warm_up if skip is None else skip)

	def finish(self, request, contestant, process):
		"""Wait for pgbench, and count acknowledged writes."""
		done = pgbench.finish(process)
		if request.writes:
			key = contestant.name, request.name
			self.site.written[key] = self.site.written.get(key, 0) + done.transactions
		return done

	def timed(self, request, contestant, clients, length, number, timing):
		"""Return throughput and latencies of a measured run."""
		tps, times = self.run(request, contestant, clients, ['-t', str(length.calls)], seed=number, skip=length.skipped)
		timing.tps[request.name, contestant.name, clients].append(tps)
		timing.latency[request.name, contestant.name, clients].append(
			Latency(*(pgbench.percentile(times, percent) for percent in (50, 95, 99))))
		say(f'round {number + 1}: {request.name}, {clients} clients, {contestant.title}: {tps:,.0f}/s')

	def queries(self, timing, requests=REQUESTS):
		"""Measure all queries. In each round the contestants take turns, and
		each runs with all numbers of clients.
		"""
		rounds, seconds = query_rounds(self.options)
		for request in chosen(self.options, False, requests):
			rates = {contestant.name: self.run(request, contestant, 1, ['-t', str(2 * self.warm_up)])[0] for contestant in self.site.contestants}
			for number in range(rounds):
				for clients in self.options.clients:
					for contestant in turns(self.site.contestants, number):
						calls = 20 if self.options.quick else PLANNED + int(
							rates[contestant.name] * min(clients, os.cpu_count()) * seconds / clients)
						# a slow contestant need not run for seconds to warm up
						skip = min(self.warm_up, calls)
						self.timed(request, contestant, clients, Length(skip + calls, skip), number, timing)

	def commands(self, timing, requests=REQUESTS):
		"""Measure all commands. In each round the contestants take turns, and
		write the same number of rows.

		blogstore's worker runs only while blogstore is measured.
		"""
		for request in chosen(self.options, True, requests):
			amounts = self.amounts(request)
			for number in range(self.options.rounds):
				for contestant in turns(self.site.contestants, number):
					self.site.worker(contestant.is_blogstore)
					for clients in self.options.clients:
						self.timed(request, contestant, clients, Length(amounts[clients], self.warm_up), number, timing)
						self.site.settle()
		self.site.worker(True)

	def amounts(self, request):
		"""Return the number of transactions per client for a run of about the
		requested length, after a first run of all contestants.
		"""
		site, options = self.site, self.options
		rates = defaultdict(list)
		for contestant in site.contestants:
			site.worker(contestant.is_blogstore)
			for clients in options.clients:
				tps, _ = self.run(request, contestant, clients, ['-t', str(self.warm_up + 50 // clients + 2)])
				rates[clients].append(tps)
		if options.quick:
			return {clients: 10 for clients in options.clients}
		room = site.room_for(request) // (2 * options.rounds * len(options.clients))
		return {clients: self.warm_up + 1
			+ int(min(statistics.median(tps) * options.seconds, 4 * min(tps) * options.seconds, room) / clients)
			for clients, tps in rates.items()}

	def costs(self, writes, requests=REQUESTS):
		"""Measure buffers and WAL of commands or queries: (request,
		contestant) -> Cost.
		"""
		site, found = self.site, {}
		site.server.change(full_page_writes='off', autovacuum='off')
		for request in chosen(self.options, writes, requests):
			site.series += request.writes
			calls = [keys_for(request, keys) for keys in site.keys(self.warm_up + self.calls, 'cost ' + request.name)]
			for contestant in site.contestants:
				if request.writes:
					site.worker(contestant.is_blogstore)
				buffers, wal = self.explained(request, contestant, calls)
				found[request.name, contestant.name] = Cost(buffers, wal,
					self.wal_of_run(request, contestant) if request.writes else 0)
			site.worker(True)
			say(f'cost of {request.name}: ' + ', '.join(
				f'{contestant.title} {found[request.name, contestant.name].buffers:.0f} buffers' for contestant in site.contestants))
		site.server.change(full_page_writes=None, autovacuum=None)
		return found

	def explained(self, request, contestant, calls):
		"""Return the median buffers and WAL of single calls, each with its own
		keys.
		"""
		statement, names = prepare(contestant.statement(request))
		text = [contestant.set(), f'PREPARE request AS {statement}']
		for keys in calls:
			execute = 'EXECUTE request' + (f"({', '.join(repr(str(keys[name])) for name in names)})" if names else '')
			text.append('EXPLAIN (ANALYZE, BUFFERS, WAL, TIMING OFF, FORMAT JSON) '
				f'SELECT staging.run($${execute}$$);')
		plans = list(documents(self.site.server.psql(self.site.database, '-f', '-', text='\n'.join(text))))[-self.calls:]
		if not plans:
			raise Failure(f'no plans of {request.name}')
		return (statistics.median(plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] for plan in plans),
			statistics.median(plan['WAL Bytes'] for plan in plans))

	def wal_of_run(self, request, contestant):
		"""Return the bytes of WAL per call, with its commit and the worker's
		writes.
		"""
		site = self.site
		position = "SELECT pg_current_wal_insert_lsn() - '0/0'"
		number = 10 if self.options.quick else 500
		self.run(request, contestant, 1, ['-t', '10'])
		site.settle()
		before = int(site.value(position))
		self.run(request, contestant, 1, ['-t', str(number)])
		site.settle()
		return (int(site.value(position)) - before) / number


def keys_for(request, keys):
	"""Return the values for a single call of a request."""
	which = {'liked_post': 'liker', 'idle_user': 'idle_user'}.get(request.keys[-1], 'user')
	return {**keys, 'user': keys[which]}


def documents(text):
	"""Yield the plans in psql's output, which is JSON texts one after another.
	"""
	decoder, at = json.JSONDecoder(), 0
	while (at := text.find('[', at)) >= 0:
		document, at = decoder.raw_decode(text, at)
		yield document[0]['Plan']
