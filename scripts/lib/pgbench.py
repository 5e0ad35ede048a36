"""Runs of pgbench, and their results."""

import glob
import os
import re
import subprocess
from collections import defaultdict
from typing import NamedTuple

from .server import Failure, environment


class Run(NamedTuple):
	"""The result of a run."""
	tps: float
	transactions: int


def command(server, database, script, clients, options, variables):
	"""Return a command line of pgbench, with prepared statements.

	The options have to include -t or -T.
	"""
	return [server.installation.program('pgbench'), '-n', '-M', 'prepared', '-f', script,
		'-c', str(clients), '-j', str(min(clients, os.cpu_count())), *options,
		*(f'-D{name}={value}' for name, value in variables.items()), database]


def start(server, call, **settings):
	"""Start a command line of pgbench, and return its process."""
	return subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
		cwd=server.socket, env={**environment(), **server.address(), **settings})


def finish(process):
	"""Wait for a pgbench, and return its Run. Raise Failure if it failed."""
	out, err = process.communicate()
	done = re.search(r'actually processed: (\d+)', out)
	tps = re.search(r'^tps = ([\d.]+) \(without', out, re.M)
	failed = re.search(r'failed transactions: (\d+)', out)
	if process.returncode != 0 or not done or (failed and failed[1] != '0'):
		raise Failure(f'pgbench failed:\n{out}\n{err[-2000:]}')
	return Run(float(tps[1]) if tps else 0.0, int(done[1]))


class Transaction(NamedTuple):
	"""A transaction in the log that pgbench --log writes."""
	client: int
	moment: float			# end, in s
	taken: float			# in ms, without the schedule lag under --rate
	script: int				# number of the script, from 0


def transactions(prefix):
	"""Yield the transactions of a run, and remove the log's files."""
	for path in glob.glob(prefix + '.*'):
		with open(path, encoding='utf-8') as log:
			for row in map(str.split, log):
				late = int(row[6]) if len(row) > 6 else 0
				yield Transaction(int(row[0]), int(row[4]) + int(row[5]) / 1e6, (int(row[2]) - late) / 1000, int(row[3]))
		os.unlink(path)


def read_log(prefix):
	"""Return all transactions of a run."""
	return list(transactions(prefix))


def steady(done, skip):
	"""Return throughput, and times in ms, while all clients were running.

	Each client's first transactions, as many as skip says, are left out.
	"""
	by_client = defaultdict(list)
	for transaction in done:
		by_client[transaction.client].append(transaction)
	begin = max(of[min(skip, len(of) - 1)].moment for of in by_client.values())
	end = min(of[-1].moment for of in by_client.values())
	within = [transaction for transaction in done if begin < transaction.moment <= end]
	if not within:
		within, begin, end = done, min(of[0].moment for of in by_client.values()), max(of[-1].moment for of in by_client.values())
	return len(within) / max(end - begin, 1e-6), [transaction.taken for transaction in within]


def percentile(times, percent):
	"""Return a percentile of the times."""
	ordered = sorted(times)
	return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
