"""Markdown tables, and facts about the machine."""

import itertools
import math
import os
import platform
import time


def table(head, rows):
	"""Print an empty line and a Markdown table. rows may be a generator; each
	row is printed when it is ready.
	"""
	print()
	for row in itertools.chain([head, ['---'] * len(head)], rows):
		print('| ' + ' | '.join(str(cell) for cell in row) + ' |', flush=True)


def ratio(one, other):
	"""Return the ratio of two processor times, or nan if the second is 0.

	Processor times have a resolution of 10 ms, so that of a short run may
	be 0.
	"""
	return one / other if other > 0 else math.nan


def processor():
	"""Return the processor's name."""
	try:
		with open('/proc/cpuinfo', encoding='utf-8') as info:
			return next(line.split(':', 1)[1].strip() for line in info if line.startswith('model name'))
	except (OSError, StopIteration):
		return platform.processor() or platform.machine()


def machine(directory):
	"""Print facts about the machine. Flushes are timed in the directory."""
	memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 2 ** 30
	print(f'- {os.cpu_count()} processors ({processor()}), {memory} GB of memory, '
		f'{platform.system()} {platform.release()}; load average when it began {os.getloadavg()[0]:.1f}')
	print(f'- appending 8 kB to a file and flushing it takes {flush_milliseconds(directory):.2f} ms '
		'where the servers\' data are')


def flush_milliseconds(directory, times=200):
	"""Return the time to append a page to a file in the directory and flush
	it, in ms.
	"""
	path = os.path.join(directory, 'flush')
	with open(path, 'wb', buffering=0) as file:
		start = time.perf_counter()
		for _ in range(times):
			file.write(b'x' * 8192)
			os.fdatasync(file.fileno())
		seconds = time.perf_counter() - start
	os.unlink(path)
	return 1000 * seconds / times
