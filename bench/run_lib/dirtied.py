"""How many pages likes dirty between two checkpoints."""

import re
import subprocess
from typing import NamedTuple

from lib import pgbench
from lib.server import Failure, dropped_to, say

from .contestants import BY_NAME
from .measure import Runner
from .site import Site
from .wal import position, waldump

CLIENTS = 8

# A page that a record names; pages of other forks than the main one are told apart.
PAGE = re.compile(r'blkref #\d+: rel (\S+ (?:fork \w+ )?blk \d+)')


class Dirtied(NamedTuple):
	"""Of one contestant."""
	likes: int
	pages: int


def dirtied(site, options, _workplace):
	"""Pages dirtied by likes spread over all posts: contestant's name -> Dirtied.

	Counted are the pages that the WAL between the two checkpoints names, each once: that depends
	neither on the size of shared_buffers nor on the moment at which a page is written, and is what
	a checkpoint has to write if no page is written before. Full pages are off, so that this WAL is short.
	"""
	other = Site(site.server, 'dirtied', options.dirtied_scale, options, ['v1', 'blogstore'])
	other.create(compare_import=False)
	request = BY_NAME['create_like']
	count = 2000 if options.quick else min(options.dirtied_likes, other.room_for(request))
	other.server.change(full_page_writes='off', autovacuum='off')
	found = {}
	for contestant in other.contestants:
		other.worker(contestant.is_blogstore)
		found[contestant.name] = between_checkpoints(Runner(other, options), request, contestant, count)
		say(f'{found[contestant.name].likes:,} likes of {contestant.title} dirty {found[contestant.name].pages:,} pages')
	other.server.change(full_page_writes=None, autovacuum=None)
	other.right()
	other.drop()
	return found


def between_checkpoints(runner, request, contestant, count):
	"""A checkpoint, the likes and all that they cause, and what was dirtied meanwhile."""
	site = runner.site
	site.sql('CHECKPOINT')
	before = position(site)
	done = runner.finish(request, contestant, pgbench.start(site.server,
		runner.call(request, contestant, CLIENTS, ['-t', str(count // CLIENTS)]),
		PGOPTIONS=contestant.options() + ' -c synchronous_commit=off'))
	site.settle()
	after = position(site)
	return Dirtied(done.transactions, pages(site, before, after))


def pages(site, before, after):
	"""How many pages records between two positions name."""
	named = set()
	installation = site.server.installation
	with subprocess.Popen(waldump(site, before, after), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
			cwd=site.server.socket, **dropped_to(installation.user)) as process:
		for line in process.stdout:
			named.update(PAGE.findall(line))
		said = process.stderr.read()
	if process.returncode != 0 or not named:
		raise Failure(f'pg_waldump does not show what was written: {said}')
	return len(named)
