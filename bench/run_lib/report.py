"""The report, in Markdown."""

import contextlib
import io
import os
import statistics
import sys

from lib.report import machine, table

from . import article, report_beyond, report_counted, report_lasting
from .contestants import REQUESTS
from .figures import spread
from .measure import WARM_UP, query_rounds
from .viral import CLIENTS, COMMENT_KINDS, KINDS

NAMES = {'get_post': 'reading a post', 'create_like': 'liking a post'}


def build(server):
	"""A warning, if the server is not one to be measured."""
	if server.sql('postgres', 'SHOW debug_assertions') == [['on']]:
		return '- **this server checks assertions: instructions and times of it mean little, WAL and buffers are right**\n'
	return ''


def about(command, installation, directory, options):
	"""Where and how it was measured."""
	with contextlib.redirect_stdout(io.StringIO()) as out:
		print(f'- `{command}`')
		print(f'- {installation.version}')
		machine(directory)
		print('- all contestants in schemas of one database of one server: fsync, synchronous_commit and full_page_writes '
			f'on, wal_level logical, shared_buffers {options.shared_buffers} MB, jit off, no checkpoint within a run, where a part says nothing else; '
			'pgbench -M prepared on the same machine, through a socket')
		print('- caches are warm, as far as the data fit into memory, of the server or of the system, where a part says nothing else; of each\n'
			f'  session the first {WARM_UP} calls are left out, in which it gets to know its plans and tables')
	return out.getvalue()


def write(site, options, results, drawn):
	"""Print the report, and put it beside the plots."""
	with contextlib.redirect_stdout(io.StringIO()) as out:
		print('# The article\'s requests\n')
		if options.quick:
			print('**A quick run: it shows that everything works. Its figures mean nothing.**\n')
		print(results['about'], end='')
		if site.items:
			data_set(site, options)
		summary(results['figures'], options)
		report_counted.write(results)
		if 'size' in options.only and site.sizes:
			size(site)
		if 'timing' in results:
			requests(site, options, results)
			costs(site, options, results)
		if 'import' in options.only and site.imported:
			imported(site)
		for name, part in (('freshness', freshness), ('rebuild', rebuild), ('rename', rename),
				('viral', viral), ('beyond', report_beyond.write), ('topics', report_beyond.topics), ('home', report_beyond.home), ('hints', report_beyond.hints), ('cold', report_beyond.cold), ('scaling', scaling)):
			if name in results:
				part(results[name])
		report_lasting.write(results)
		correctness(results['verdict'])
		print('\n## Plots\n')
		print(drawn)
	sys.stdout.write(out.getvalue())
	sys.stdout.flush()
	if options.output:
		with open(os.path.join(options.output, 'report.md'), 'w', encoding='utf-8') as file:
			file.write(out.getvalue())


def data_set(site, options):
	"""What there is."""
	print(f'- scale {site.scale:g}: {site.users:,} users, {site.items["posts"]:,} posts of about 1 kB, '
		f'{site.items["comments"]:,} comments, {site.items["likes"]:,} likes; and {site.idle_users:,} users without '
		f'items, to be renamed; seed {site.seed}')
	rounds, seconds = query_rounds(options)
	print(f'- {options.rounds} rounds of ' + ('a few transactions' if options.quick else
		f'{options.seconds} s, of the queries {rounds} of {seconds:g} s') + ', contestants in turn within each; medians')


def rows_of(results, column):
	"""A row for each request measured."""
	return [[f'{request.code} {request.title}', *column(request)] for request in REQUESTS
		if any(key[0] == request.name for key in results['timing'].tps)]


def requests(site, options, results):
	"""The article's table; latencies; throughput."""
	timing, found = results['timing'], results['costs']
	by_name = {contestant.name: contestant for contestant in site.contestants}
	titles = [contestant.title for contestant in site.contestants]
	ratio_titles = ['floor takes', 'V1 takes']

	def ratios(request, clients):
		return [f'{timing.ratio(request, by_name["blogstore"], by_name[other], clients):.2f} x' for other in ('floor', 'v1')]

	print('\n## The article\'s table\n')
	print('Milliseconds (median of one client\'s calls) / request units (4 buffers are one, 1 kB of WAL is five, so that\n'
		'reading an item of 1 kB is about one; without what is done later, see below). "Floor takes" and "V1 takes":\n'
		'their time as a multiple of blogstore\'s, by calls a second of one client.')
	table(['request', *titles, *ratio_titles], rows_of(results, lambda request: [
		*(f'{timing.percentiles(request, contestant).p50:.3f} / '
			f'{found[request.name, contestant.name].units(found[request.name, contestant.name].wal):.2f}'
			for contestant in site.contestants), *ratios(request, 1)]))
	print('\n## Latency: p50 / p95 / p99, ms, one client')
	table(['request', *titles], rows_of(results, lambda request: [
		' / '.join(f'{value:.3f}' for value in timing.percentiles(request, contestant))
		for contestant in site.contestants]))
	for clients in options.clients:
		print(f'\n## Calls a second, {clients} client{"s" if clients > 1 else ""}')
		table(['request', *titles, *ratio_titles], rows_of(results, lambda request, clients=clients: [
			*(f'{timing.throughput(request, contestant, clients):,.0f}' for contestant in site.contestants),
			*ratios(request, clients)]))
	print('\nCommands: every contestant writes the same number with the same keys, which never come twice: a like is of a\n'
		'user who has not liked the post; writes are spread over posts and users evenly. A first run of all contestants\n'
		'tells how many make a run of about the length asked for. Queries are measured before the commands. blogstore\'s\n'
		'worker runs while blogstore is measured, and is stopped while the others\' commands are, so that it takes nothing\n'
		'from them. The floor\'s tables are not kept in step: its C3 and C4 insert one row and count nothing.')


def costs(site, options, results):
	"""Buffers and WAL."""
	found = results['costs']
	titles = [contestant.title for contestant in site.contestants]
	print('\n## Buffers and WAL of a call\n')
	print('Buffers: pages looked at, by EXPLAIN of a call inside a function, which counts triggers, foreign keys and all that\n'
		'functions do; medians of calls of a session that knows its\n'
		'plans and tables. WAL in bytes: in the call, by the same EXPLAIN; and over a run of one client, divided\n'
		'by its calls, with commits and all that blogstore\'s worker writes until the views show it. Measured with\n'
		'full_page_writes off, so that no full pages count, and without autovacuum.')
	table(['request', *titles], rows_of(results, lambda request: [
		f'{found[request.name, contestant.name].buffers:.0f}' for contestant in site.contestants]))
	table(['WAL in the call / in all', *titles], [row for row in rows_of(results, lambda request: [
		f'{found[request.name, contestant.name].wal:,.0f} / {found[request.name, contestant.name].wal_all:,.0f}'
		for contestant in site.contestants]) if row[0][0] == 'C'])
	table(['request units, with all WAL', *titles], [row for row in rows_of(results, lambda request: [
		f'{found[request.name, contestant.name].units(found[request.name, contestant.name].wal_all):.2f}'
		for contestant in site.contestants]) if row[0][0] == 'C'])


def imported(site):
	"""Loading."""
	done = site.imported
	print('\n## Import\n')
	print(f'{done.items:,} items: import() {done.blogstore:.1f} s ({done.items / done.blogstore:,.0f}/s), then the views '
		f'{done.views:.1f} s; INSERT ... SELECT of the same rows, with names and counts, into plain tables with the same '
		f'indexes {done.plain:.1f} s ({done.items / done.plain:,.0f}/s). Each once, after a checkpoint, the plain one first.')


def size(site):
	"""Bytes."""
	items = sum(site.items.values())
	print('\n## Size on disk\n')
	print('Once loaded and vacuumed, with indexes and copies.')
	table(['contestant', 'MB', 'bytes an item', 'to V1'], [[contestant.title, f'{site.sizes[contestant.name] / 2 ** 20:,.1f}',
		f'{site.sizes[contestant.name] / items:,.0f}', f'{site.sizes[contestant.name] / site.sizes["v1"]:.2f}']
		for contestant in site.contestants])


def freshness(found):
	"""From commit to visible."""
	print('\n## Freshness\n')
	print('From the commit of a post until a query finds it in the feed, inside the server, beside clients that like posts as\n'
		'fast as they can; ms. bench/freshness measures it from outside.')
	table(['writers', 'writes/s', 'posts', 'p50', 'p95', 'p99', 'max'], [[of.writers, f'{of.rate:,.0f}', len(of.times),
		*(f'{of.percentile(percent):.1f}' for percent in (50, 95, 99)), f'{max(of.times):.1f}'] for of in found])


def rebuild(found):
	"""Rebuilding the views."""
	rows, *both = found
	print(f'\n## Rebuild\n\n{rows:,} copies; rounds in turn.')
	table(['', 's, median', 'least to most', 'copies a second'], [[title, f'{statistics.median(times):.2f}', f'{min(times):.2f} to {max(times):.2f}',
		f'{rows / statistics.median(times):,.0f}'] for title, times in zip(('rebuild_views() until they are there', 'CREATE TABLE AS of the same rows, and its index'), both)])


def rename(found):
	"""Renaming."""
	print('\n## Renaming a user with many items\n')
	print('Two clients read posts and two like posts meanwhile; ms, p50 / p99 of theirs before the rename, and from its beginning\n'
		'until all items have the new name.')
	rows = [[of.title, f'{of.items:,} and more', f'{1000 * of.call:,.0f}', f'{1000 * of.done:,.0f}',
		*(' / '.join(f'{value:.2f}' for value in span[name]) if span[name] else '' for name in NAMES
			for span in (of.before, of.meanwhile))] for of in found]
	table(['contestant', 'items', 'edit_user returns', 'all renamed',
		*(f'{title}, {span}' for title in NAMES.values() for span in ('before', 'meanwhile'))], rows)


def viral(found):
	"""Likes of one post and of many."""
	print('\n## A viral post\n')
	print(f'{CLIENTS} clients; {found.likes:,} users like one post, or each of them another post. Likes a second, medians of rounds.')
	table(['contestant', *KINDS, 'one / all'], [[contestant.title, *(f'{statistics.median(found.tps[contestant.name, kind]):,.0f}' for kind in KINDS),
		spread(found.ratios(contestant.name))] for contestant in found.contestants])
	print('\nLikes of comments, the same way; each post has one comment.')
	table(['contestant', *COMMENT_KINDS, 'one / all'], [['blogstore', *(f'{statistics.median(found.tps["blogstore", kind]):,.0f}' for kind in COMMENT_KINDS),
		spread(found.comment_ratios())]])


def scaling(found):
	"""Growth with the data."""
	print('\n## Growth with the data\n')
	print('Buffers / ms (one client\'s median) of each request, a round each. Where a data set is larger than memory, part of\n'
		'the time goes into reading from the disk.')
	head = [f'{contestant.title}, {of.scale:g}' for contestant in found[0].contestants for of in found]
	rows = []
	for request in REQUESTS:
		if (request.name, found[0].contestants[0].name) in found[0].costs:
			rows.append([f'{request.code} {request.title}', *(f'{of.costs[request.name, contestant.name].buffers:.0f} / '
				f'{of.timing.percentiles(request, contestant).p50:.3f}' for contestant in found[0].contestants for of in found)])
	table(['request', *head], rows)
	print('\nOf these, on disk, with indexes and copies:')
	table(['scale', 'items', *(f'{contestant.title}, MB' for contestant in found[0].contestants)],
		[[f'{of.scale:g}', f'{of.items:,}', *(f'{of.sizes[contestant.name] / 2 ** 20:,.0f}' for contestant in of.contestants)]
		for of in found])
	print('\nSeconds of verify(), and of plain SQL that counts comments and likes of the same rows:')
	table(['scale', 'items', 'verify()', 'plain SQL'], [[f'{of.scale:g}', f'{of.verified.items:,}', f'{of.verified.verify[0]:,.1f}', f'{of.verified.plain[0]:,.1f}'] for of in found if of.verified])
	beside_article(found[-1])


def beside_article(largest):
	"""The article's own table, and blogstore's column beside it."""
	print(f'\n## Beside the article\'s own table\n\nThe article measured a service over a network ([its table]({article.ADDRESS}), scale 1): milliseconds / request\n'
		f'units of its own, which are not those counted here. blogstore: scale {largest.scale:g}, {largest.items:,} items, through a socket; request units\n'
		'with all WAL that a command causes.')
	rows = []
	for request in REQUESTS:
		if (request.name, 'blogstore') in largest.costs:
			cost, blogstore = largest.costs[request.name, 'blogstore'], next(one for one in largest.contestants if one.is_blogstore)
			rows.append([f'{request.code} {request.title}', *(f'{ms} / {units:g}' for ms, units in article.TABLE[request.code]),
				f'{largest.timing.percentiles(request, blogstore).p50:.3f} / {cost.units(cost.wal_all):.2f}'])
	table(['request', 'article V1', 'article V2', 'article V3', 'blogstore'], rows)


def summary(figures, options):
	"""All figures."""
	print('\n## Figures')
	print('\nRatios to a peer within this run. Of what was measured in rounds the median counts; the least and the most are beside it.\n'
		'`bench/run --only PART` measures a part alone.')
	table(['figure', 'what', 'bound', 'measured', 'reached', 'part'], [[figure.name, figure.what, figure.bound, figure.measured.strip(),
		'' if figure.reached is None else 'yes' if figure.reached else '**no**', figure.part] for figure in figures])
	if options.left_out:
		print(f'\nParts that were not run: {", ".join(options.left_out)}.')


def correctness(verdict):
	"""What was checked."""
	print('\n## Correctness\n')
	if verdict.checks == 0 and not verdict.problems:
		print('These parts compare no answers.')
		return
	print(f'{verdict.checks} checks: answers of all contestants to the same calls, all columns, in order, before anything was\n'
		'timed; all items and counts that they hold, before and after the commands; verify().')
	print('\n'.join(f'- **{problem}**' for problem in verdict.problems[:50]) or 'All were right.')
