"""The figures to reach, the model, and the report in Markdown."""

import contextlib
import io
import os
import statistics
import sys

from lib import pgbench
from lib.report import ratio, table
from run_lib.contestants import BY_NAME
from run_lib.figures import absent, judged

from . import keys
from .measure import PLACES
from .parts import ANY, TOGETHER

DIRECT = {'get_post': ('Q2', 'direct'), 'create_like': ('C4', 'direct')}
HOME = {'list_user_posts': ('Q3', 'home node'), 'list_feed': ('Q6', 'a node')}


def median(results, what):
	"""Of one field of the rounds."""
	return statistics.median(getattr(result, what) for result in results)


def ratios(results, nodes, name, place):
	"""Calls a second against one machine's, round by round."""
	return [mine.tps / theirs.tps for mine, theirs in zip(results[nodes, name, place], results[nodes, name, 'here'])]


def figures(options, found):
	"""All figures with bounds, of each number of nodes."""
	for nodes in options.nodes:
		of = f'{nodes} node{"s" if nodes > 1 else ""}'
		timed, written = found.get('requests', {}), found.get('writes', {})
		for names, what in ((DIRECT, 'asked of the owner'), (HOME, 'from shipped views')):
			yield judged(of, f'{what}: calls a second against one machine\'s', 'requests',
				{code: ratios(timed, nodes, name, 'direct') for name, (code, _) in names.items() if (nodes, name, 'direct') in timed}, 0.9)
		yield judged(of, 'processors\' time of a write to its owner, summed over all members, each as busy as one machine, against one machine\'s', 'writes',
			{BY_NAME[name].code: [ratio(mine[1], theirs[1]) for mine, theirs in zip(written[nodes, name, 'together, paced'], written[nodes, name, 'here, paced'])]
				for name in TOGETHER if (nodes, name, 'together, paced') in written}, 1.15, most=True)
	if not options.nodes:
		yield absent('', 'no cluster', '', '')


def write(options, about, found, verdict):
	"""Print the report, and put it where it was asked for."""
	with contextlib.redirect_stdout(io.StringIO()) as out:
		print('# A cluster beside one machine\n')
		if options.quick:
			print('**A quick run: it shows that everything works. Its figures mean nothing.**\n')
		print(about, end='')
		summary(options, found)
		for nodes in options.nodes:
			if 'requests' in found:
				places(nodes, found['requests'])
		if 'writes' in found:
			writes(options, found['writes'])
			model(options, found)
		freshness(found.get('freshness', {}))
		moves(found.get('move', {}))
		correctness(verdict)
	sys.stdout.write(out.getvalue())
	sys.stdout.flush()
	if options.output:
		os.makedirs(options.output, exist_ok=True)
		with open(os.path.join(options.output, 'report.md'), 'w', encoding='utf-8') as file:
			file.write(out.getvalue())


def summary(options, found):
	"""All figures."""
	print('\n## Figures')
	print('\nRatios to one machine within this run, of rounds in turn: the median counts; beside it are the least and the most.')
	table(['cluster of', 'what', 'bound', 'measured', 'reached', 'part'], [[figure.name, figure.what, figure.bound, figure.measured.strip(),
		'' if figure.reached is None else 'yes' if figure.reached else '**no**', figure.part] for figure in figures(options, found)])
	if options.left_out:
		print(f'\nParts that were not run: {", ".join(options.left_out)}.')


def places(nodes, timed):
	"""Each request by where it was asked: calls a second, ms, CPU."""
	print(f'\n## Requests, {nodes} node{"s" if nodes > 1 else ""}, one client\n')
	print('Calls a second, and against one machine\'s; ms, median and p99; microseconds of processors a call, of all members and their workers.\n'
		'Direct: asked of the node that has the post, the user\'s copies, or for what every node has.')
	rows = []
	for request in keys.REQUESTS:
		for place in ('here', 'direct', 'other', 'coordinator', 'any'):
			results = timed.get((nodes, request.name, place))
			if results:
				rows.append([f'{request.code} {request.title}' if place == 'here' else '', PLACES[place], f'{median(results, "tps"):,.0f}',
					'' if place == 'here' else f'{statistics.median(ratios(timed, nodes, request.name, place)):.2f}',
					f'{median(results, "p50"):.3f}', f'{median(results, "p99"):.3f}', f'{median(results, "cpu"):,.0f}'])
	table(['request', 'asked of', 'calls/s', 'ratio', 'p50 ms', 'p99 ms', 'CPU us'], rows)


def writes(options, written):
	"""All nodes at once, on this machine's processors."""
	print('\n## Writes, all nodes at once\n')
	print(f'{options.clients} clients a node, each asks the node that has its posts. All members share the processors of this machine, so what a node\n'
		'takes here says little: processors\' time a call is what counts, without autovacuum.\n')
	print(f'Each server with {options.clients} clients at {options.write_rate:,} calls a second, one machine as each node: what N machines take follows from it.')
	written_by(options, written, ', paced')
	print('\nAs fast as they can, one machine with as many clients as all nodes together. So many at one server cost less each: it flushes\n'
		'what they commit at once together, and its worker follows them in larger steps.')
	written_by(options, written, '')


def written_by(options, written, way):
	"""One of the two ways: each number of nodes beside one machine."""
	table(['request', 'nodes', 'calls/s, all', 'a node', 'one machine', 'CPU us', 'one machine', 'ratio'],
		[[BY_NAME[name].code, nodes, f'{middle(written, nodes, name, "together" + way, 0):,.0f}',
			f'{middle(written, nodes, name, "together" + way, 0) / nodes:,.0f}', f'{middle(written, nodes, name, "here" + way, 0):,.0f}',
			f'{middle(written, nodes, name, "together" + way, 1):.0f}', f'{middle(written, nodes, name, "here" + way, 1):.0f}',
			f'{ratio(middle(written, nodes, name, "together" + way, 1), middle(written, nodes, name, "here" + way, 1)):.2f}']
			for name in TOGETHER for nodes in options.nodes if (nodes, name, 'together' + way) in written])


def middle(written, nodes, name, place, which):
	"""Median of calls a second (0), or microseconds a call (1)."""
	return statistics.median(one[which] for one in written[nodes, name, place])


def model(options, found):
	"""What N machines take, from what a call costs, and whether that holds for each number of nodes."""
	written, timed = found['writes'], found.get('requests', {})
	known = [nodes for nodes in options.nodes if (nodes, 'create_like', 'together, paced') in written]
	if not known:
		return
	base = 2 if 2 in known else known[-1]
	print('\n## What N machines take\n')
	print('A machine has so many seconds of processors a second, and a call takes some of them, on whichever member. If a call to its owner takes d on\n'
		'a cluster of any size, and s on one machine, both as busy, N nodes on machines of their own take N * s / d times what one takes. Calls to any node are\n'
		'forwarded unless it happens to be the owner: d / N + f * (N - 1) / N, where f is a call from another node. d and f are those of\n'
		f'{base} node{"s" if base > 1 else ""}; what was measured with other numbers shows whether that holds.')
	rows = []
	for nodes in known:
		for name in TOGETHER:
			if any((number, name, 'together, paced') not in written for number in known):
				continue
			direct = middle(written, base, name, 'together, paced', 1)
			single = statistics.median(middle(written, other, name, 'here, paced', 1) for other in known)
			measured = middle(written, nodes, name, 'together, paced', 1)
			rows.append([BY_NAME[name].code, 'direct', nodes, f'{ratio(nodes * single, direct):.2f}', f'{direct:.0f}', f'{measured:.0f}', f'{ratio(measured, direct):.2f}'])
		for name in ANY:
			rows += any_node(timed, nodes, base, name)
	table(['request', 'asked', 'nodes', 'times one machine\'s rate', 'CPU us, model', 'measured', 'ratio'], rows)


def any_node(timed, nodes, base, name):
	"""The model of calls that come to any node."""
	if (base, name, 'other') not in timed or (nodes, name, 'any') not in timed:
		return []
	direct, forwarded = median(timed[base, name, 'direct'], 'cpu'), median(timed[base, name, 'other'], 'cpu')
	cost = direct / nodes + forwarded * (nodes - 1) / nodes
	measured = median(timed[nodes, name, 'any'], 'cpu')
	return [[BY_NAME[name].code, 'any node', nodes, f'{ratio(nodes * median(timed[nodes, name, "here"], "cpu"), cost):.2f}', f'{cost:.0f}', f'{measured:.0f}',
		f'{ratio(measured, cost):.2f}']]


def freshness(found):
	"""From commit to visible, where the author is at home."""
	if not found:
		return
	print('\n## Freshness of shipped views\n')
	print('From the commit of a new post on one node until `list_user_posts()` shows it on another, the author\'s home; ms. With one node, and on\n'
		'one machine, nothing is shipped. What looks is a query each 0.1 ms, and it has to find a processor, too.')
	rows = []
	for nodes, both in found.items():
		for title, times in zip((f'one machine, beside {nodes}', f'{nodes} node{"s" if nodes > 1 else ""}'), both):
			rows.append([title, len(times), *(f'{pgbench.percentile(times, percent):.1f}' for percent in (50, 95, 99)), f'{max(times):.1f}'])
	table(['', 'posts', 'p50', 'p95', 'p99', 'max'], rows)


def moves(found):
	"""p99 around a move."""
	if not found:
		return
	print('\n## A shard moves and comes back\n')
	print('One client each, at a given rate; ms of calls before, meanwhile (and a second after) and behind. No call failed.')
	rows = []
	for nodes, by_place in found.items():
		for (name, place), moved in by_place.items():
			rows.append([nodes, f'{BY_NAME[name].code}, {PLACES[place]}', f'{moved.seconds:.1f}',
				*(f'{pgbench.percentile(times, 99):.1f}' if times else 'none' for times in (moved.before, moved.during, moved.after)),
				f'{max(moved.during):.0f}' if moved.during else ''])
	table(['nodes', 'request', 'both moves, s', 'p99 before', 'p99 meanwhile', 'p99 behind', 'longest'], rows)


def correctness(verdict):
	"""What was checked."""
	print('\n## Correctness\n')
	print(f'{verdict.checks} checks: answers of each member to the same calls are one machine\'s, all columns, in order, before anything was\n'
		'timed; what was acknowledged is there once; verify().')
	print('\n'.join(f'- **{problem}**' for problem in verdict.problems[:50]) or 'All were right.')
