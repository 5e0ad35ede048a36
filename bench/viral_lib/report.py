"""The report: medians, in Markdown."""

import statistics

from lib.report import machine, table

from . import measure
from .measure import KINDS, MOST_CLIENTS, spreads
from .store import CONTESTANTS

PEER = CONTESTANTS['row_update'][0]		# what bytes are compared with
SITUATIONS = {
	'idle': 'an idle post, idle server',
	'other': f'an idle post, {MOST_CLIENTS} clients like another post',
	'hot': f'the post that {MOST_CLIENTS} clients like',
}


def over(posts):
	"""How requests are spread, in words."""
	return 'one post' if posts == 1 else f'{posts:,} posts'


def head(command, installation, directory, options):
	"""Where and how it was measured."""
	print('# Likes of a viral post\n')
	print(f'- `{command}`')
	print(f'- {installation.version}')
	machine(directory)
	print(f'- {options.users:,} users, {options.posts_large:,} posts and {options.posts_small:,} newer ones; '
		f'{options.rounds} rounds of '
		+ (f'{options.seconds} s' if options.seconds else f'{options.transactions} transactions a client'))
	print('- pgbench, prepared statements, on the same machine; each contestant on a server of its own, '
		f'of which one works at a time; all with fsync, synchronous_commit and full_page_writes on, shared_buffers {options.shared_buffers} MB; '
		'blogstore\'s with wal_level logical and its worker running, the peers\' with wal_level replica',
		flush=True)


def throughput(tps, contestants, options):
	"""Transactions per second, and F4."""
	print('\n## Transactions per second\n')
	print(f'Medians of {options.rounds} rounds, contestants in turn within each.')
	rows = []
	for request in options.requests:
		for posts in spreads(options):
			for contestant in contestants:
				rows.append([request, over(posts), contestant.title]
					+ [f'{statistics.median(tps[contestant.title, request, posts, clients]):,.0f}'
						for clients in options.clients])
	table(['request', 'spread over', 'contestant', *(f'{n} clients' for n in options.clients)], rows)

	most = max(options.clients)
	print(f'\n## One post against many, {most} clients\n')
	print('Ratio of transactions per second within a round: median (least to greatest).')
	rows = []
	for request in options.requests:
		for contestant in contestants:
			row = [request, contestant.title]
			for posts in spreads(options)[1:]:
				ratios = [one / many for one, many in zip(tps[contestant.title, request, 1, most],
					tps[contestant.title, request, posts, most])]
				row.append(f'{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})')
			rows.append(row)
	table(['request', 'contestant', *(f'one post / {over(posts)}' for posts in spreads(options)[1:])], rows)


def latency(found, contestants, options):
	"""get_post while the post is liked."""
	print('\n## get_post while a post goes viral\n')
	print(f'One client reads for {options.latency_seconds} s; ms, medians of {options.rounds} rounds. Ratios of p50 / of p99 to\n'
		'the idle server tell what a reader feels; those to an idle post beside the same load tell what\n'
		'of it comes from counting, and not from the machine being busy.')
	rows = []
	for contestant in contestants:
		medians = {situation: measure.Latencies(*(statistics.median(run[i] for run in found[contestant.title, situation])
			for i in range(4))) for situation in SITUATIONS}
		for situation, label in SITUATIONS.items():
			of = medians[situation]
			ratios = [f'{of.p50 / medians[base].p50:.2f} / {of.p99 / medians[base].p99:.2f}' for base in ('idle', 'other')]
			rows.append([contestant.title, label, f'{of.p50:.3f}', f'{of.p99:.3f}', f'{of.late_p50:.3f} / {of.late_p99:.3f}',
				ratios[0] if situation != 'idle' else '', ratios[1] if situation == 'hot' else ''])
	table(['contestant', 'get_post of', 'p50', 'p99', 'in the last third', 'to the idle server', 'to an idle post'], rows)


def storage(found, options):
	"""WAL, bytes, HOT."""
	likes = options.storage_likes
	print('\n## WAL and bytes per like\n')
	print(f'{MOST_CLIENTS} clients, after {likes:,} likes to warm up, VACUUM and CHECKPOINT: WAL of the next {likes:,}\n'
		'likes, with the full pages that follow a checkpoint, and of as many after them; folding and views\n'
		'included. Bytes on disk: what all tables and indexes have grown by, after folding and VACUUM.')
	rows, more_rows = [], []
	for (title, posts), of in found.items():
		peer = found.get((PEER, posts), of)
		rows.append([title, over(posts), f'{of.wal_first:,.0f}', f'{of.pages_first:.3f}', f'{of.wal_first / peer.wal_first:.2f}',
			f'{of.wal_next:,.0f}', f'{of.pages_next:.3f}', f'{of.wal_next / peer.wal_next:.2f}'])
		more_rows.append([title, over(posts), *(f'{part:,.0f}' for part in of.grown), f'{sum(of.grown):,.0f}',
			f'{sum(of.grown) / sum(peer.grown):.2f}', f'{of.grown_before:,.0f}'])
	table(['contestant', 'spread over', 'WAL after a checkpoint', 'full pages', 'to the peer',
		'WAL then', 'full pages', 'to the peer'], rows)
	table(['contestant', 'spread over', *KINDS, 'sum', 'to the peer', 'sum before folding and VACUUM'], more_rows)

	print('\n## Counting, per like\n')
	print('HOT updates touch no index. Likes of posts that are held by others are counted in deltas.')
	table(['contestant', 'spread over', 'updates of posts', 'HOT', 'updates of deltas', 'HOT', 'new deltas', 'HOT of all updates'],
		[[title, over(posts), f'{of.posts.updated:.3f}', hot(of.posts), f'{of.deltas.updated:.3f}', hot(of.deltas),
			f'{of.deltas.inserted:.4f}', hot(of.posts, of.deltas)] for (title, posts), of in found.items()])


def hot(*written):
	"""How many of the updates touched no index, in percent."""
	updated = sum(of.updated for of in written)
	return f'{100 * sum(of.updated_hot for of in written) / updated:.1f} %' if updated else ''


def sustained(of):
	"""A long run."""
	print('\n## Sustained\n')
	print(f'{of.likes:,} likes from {MOST_CLIENTS} clients, on {of.posts} posts one after another: '
		f'{of.likes / of.seconds:,.0f} likes/s, checks and new posts in between included. '
		f'Deltas, seen once a second: at most {of.most_of_post:,} of a post, {of.most:,} in all. '
		f'HOT: {hot(of.written[0]) or "none"} of {of.written[0].updated:,} updates of posts, '
		f'{hot(of.written[1]) or "none"} of {of.written[1].updated:,} updates of deltas.')
	table(['MB with indexes', 'posts', 'deltas'],
		[[moment, *(f'{size / 2 ** 20:.1f}' for size in sizes)] for moment, sizes in of.sizes.items()])
	print('\nLeaves of posts against copies built just now, before any VACUUM but the server\'s own:')
	rows = []
	for label, first in (('tables', 1), ('indexes', 3)):
		size, new = (sum(leaf[i] for leaf in of.fresh) for i in (first, first + 1))
		worst = max(of.fresh, key=lambda leaf: leaf[first] / leaf[first + 1])
		rows.append([label, f'{size / 2 ** 20:.1f}', f'{new / 2 ** 20:.1f}', f'{size / new:.2f}',
			f'{worst[first] / worst[first + 1]:.2f} ({worst[0]})'])
	table(['', 'MB', 'MB of copies', 'ratio', 'greatest of a leaf'], rows)


def correctness(verdict):
	"""What was checked."""
	print('\n## Correctness\n')
	print(f'{verdict.checks} checks: counts of get_post against items there and transactions acknowledged, '
		'after each run and in the end; verify().')
	print('\n'.join(f'- **{problem}**' for problem in verdict.problems) or 'All were right.', flush=True)
