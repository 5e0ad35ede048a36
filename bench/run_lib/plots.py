"""SVG plots, if gnuplot is installed."""

import os
import shutil

from lib.server import call

from .contestants import REQUESTS

HEAD = """
set terminal svg size 1000,520 font 'sans-serif,13' background '#ffffff'
set grid ytics lc rgb '#dddddd'
set border 3
set tics nomirror
set key outside top center horizontal noenhanced
"""
COLOURS = ('#b0bec5', '#78909c', '#c3a35d', '#37474f', '#0b69a3', '#d9822b', '#147d64', '#8e44ad', '#c62828')


def draw(site, options, results):
	"""Draw all plots, and return the text for the report."""
	if not options.output:
		return 'None: --output says where to put them.'
	os.makedirs(options.output, exist_ok=True)
	gnuplot = shutil.which('gnuplot')
	if gnuplot is None:
		return 'None: gnuplot is not installed.'
	plots = {
		'requests': 'timing' in results and requests(site, results['timing']),
		'clients': 'timing' in results and len(options.clients) > 1 and clients(site, options, results['timing']),
		'scaling': results.get('scaling') and scaling(results['scaling'], writes=False),
		'scaling_commands': results.get('scaling') and scaling(results['scaling'], writes=True),
		'freshness': results.get('freshness') and freshness(results['freshness']),
	}
	made = []
	for name, commands in plots.items():
		if commands:
			call([gnuplot, '-'], f"{HEAD}set output '{name}.svg'\n{commands}", cwd=options.output)
			made.append(f'![{name}]({name}.svg)')
	return '\n\n'.join(made) or 'None: nothing to draw was measured.'


def block(name, lines):
	"""Write data for gnuplot."""
	return f'${name} << END\n' + '\n'.join(lines) + '\nEND\n'


def requests(site, timing):
	"""The article's table as bars."""
	measured = [request for request in REQUESTS if (request.name, 'v1', 1) in timing.latency]
	lines = [f'"{request.code} {request.name}" ' + ' '.join(f'{timing.percentiles(request, contestant).p50:.4f}'
		for contestant in site.contestants) for request in measured]
	bars = ', '.join(f"{'$data' if at == 0 else chr(39) * 2} using {at + 2}{':xtic(1)' if at == 0 else ''} "
		f"title '{contestant.title}' lc rgb '{COLOURS[at]}'" for at, contestant in enumerate(site.contestants))
	return (block('data', lines) + "set title 'Latency of the requests, one client, median'\nset ylabel 'ms'\n"
		"set logscale y\nset style data histogram\nset style histogram clustered gap 1\nset style fill solid\n"
		"set xtics rotate by -30 noenhanced\n" + f'plot {bars}\n')


def clients(site, options, timing):
	"""Latency of each request by the number of clients, a panel each: V1, blogstore and the floor."""
	shown = [contestant for contestant in site.contestants if contestant.name in ('v1', 'blogstore', 'floor')]
	measured = [request for request in REQUESTS if (request.name, 'blogstore', options.clients[-1]) in timing.latency]
	commands = ("set terminal svg size 1200,1000 font 'sans-serif,11' background '#ffffff'\nset output 'clients.svg'\n"
		"set multiplot layout 4,3 title 'Latency of the requests beside other clients of the same request, median'\n"
		"set logscale x 2\nset yrange [0:*]\nset xlabel 'clients'\nset ylabel 'ms'\nset key inside left top vertical\n"
		f"set xtics ({', '.join(map(str, options.clients))})\n")
	for request in measured:
		lines = []
		for at, contestant in enumerate(shown):
			name = f'{contestant.name}_{request.name}'
			commands += block(name, [f'{number} {timing.percentiles(request, contestant, number).p50:.4f}' for number in options.clients])
			lines.append(f"${name} with linespoints pt 7 ps 0.6 lw 2 lc rgb '{COLOURS[(0, 4, 2)[at]]}' title '{contestant.title}'")
		commands += f"set title '{request.code} {request.title}'\n".replace("user's", "user''s").replace("post's", "post''s") + 'plot ' + ', '.join(lines) + '\n'
	return commands + 'unset multiplot\n' if measured else ''


def scaling(found, writes):
	"""Buffers of each query, or of each command, by the size of the data set, of blogstore, and of V1 if it has grown too."""
	commands, lines = '', []
	queries = [request for request in REQUESTS if request.writes == writes and (request.name, 'blogstore') in found[0].costs]
	shown = [('blogstore', 1), ('v1', 2)] if 'v1' in found[0].sizes else [('blogstore', 1)]
	for at, request in enumerate(queries):
		for contestant, dash in shown:
			name = f'{contestant}_{request.name}'
			commands += block(name, [f'{of.items} {of.costs[request.name, contestant].buffers}' for of in found])
			lines.append(f"${name} with linespoints pt 7 ps 0.6 lw 2 dashtype {dash} lc rgb '{COLOURS[at]}' title '{request.code} {request.name} "
				f"{'blogstore' if dash == 1 else 'V1'}'")
	return (commands + f"set title 'Buffers of a {'command' if writes else 'query'} as the data grow'\nset xlabel 'items'\nset ylabel 'buffers'\n"
		'set logscale xy\nset key outside right top vertical noenhanced\nplot ' + ', '.join(lines) + '\n' if lines else '')


def freshness(found):
	"""The distribution of the times from commit to visible."""
	commands, lines = '', []
	for at, of in enumerate(found):
		times = sorted(of.times)
		commands += block(f'w{at}', [f'{value:.3f} {100 * (n + 1) / len(times):.3f}' for n, value in enumerate(times)])
		lines.append(f"$w{at} with steps lw 2 lc rgb '{COLOURS[at]}' title '{of.writers} writers'")
	return (commands + "set title 'From commit to visible in the feed'\nset xlabel 'ms'\nset ylabel '% of posts'\n"
		'set logscale x\nplot ' + ', '.join(lines) + '\n')
