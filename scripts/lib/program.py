"""The command line, verdict and exit of the programs."""

import argparse
import os
import sys
import tempfile

from .server import Failure, end_on_signals


class Verdict:
	"""The number of checks, and the problems that they found."""

	def __init__(self):
		self.checks = 0
		self.problems = []


def list_of(kind, choices=None):
	"""Return an argument type for values separated by commas.

	The values are among the choices or, without choices, positive.
	"""
	def convert(text):
		items = [kind(item) for item in text.split(',') if item]
		if choices is not None and not set(items) <= set(choices):
			raise argparse.ArgumentTypeError('choose from ' + ', '.join(choices))
		if choices is None and (not items or min(items) <= 0):
			raise argparse.ArgumentTypeError('numbers have to be positive')
		return items
	return convert


def server_options(parser, buffers):
	"""Add the options for servers that every program has, and --quick."""
	parser.add_argument('--shared-buffers', type=int, default=buffers, metavar='MB', help='of each server (%(default)s)')
	parser.add_argument('--directory', default=tempfile.gettempdir(), help='where servers live (%(default)s)')
	parser.add_argument('--pg-config', default=os.environ.get('PG_CONFIG', 'pg_config'), metavar='PATH',
		help='the pg_config of the PostgreSQL to use (PG_CONFIG)')
	parser.add_argument('--quick', action='store_true', help='see that it works: little data, hardly any figures')


def turns(items, number):
	"""Return the items; in reverse order if number is odd."""
	return list(items) if number % 2 == 0 else list(reversed(items))


def main(name, parse, run):
	"""Run a program, and exit with its status, after its clean-up."""
	end_on_signals()
	try:
		sys.exit(run(parse()))
	except KeyboardInterrupt:
		sys.exit(130)
	except Failure as failure:
		sys.exit(f'{name}: {failure}')
