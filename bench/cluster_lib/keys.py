"""Which posts and users calls are for.

A client that goes straight to the owner knows which posts a node has. pgbench knows no lists: one is
written as an expression, a tree of comparisons, which takes it two microseconds.
"""

import os

from run_lib.contestants import SQL, BY_NAME, CONTESTANTS
from .systems import DATABASE

BLOGSTORE = next(contestant for contestant in CONTESTANTS if contestant.is_blogstore)
MOST = 2048				# keys of a node that are asked for


def chosen(member, what, most=MOST):
	"""The numbers of some posts or users that are at home on a member."""
	table, column = {'post': ('mine', 'post_id'), 'user': ('mine_users', 'user_id')}[what]
	return [int(row[0]) for row in member.sql(DATABASE,
		f"SELECT replace(right({column}::text, 17), '-', '')::bigint FROM staging.{table} ORDER BY md5({column}::text) LIMIT {most}")]


def tree(numbers, first=0):
	"""The expression that is the number of an index k."""
	if len(numbers) == 1:
		return str(numbers[0])
	half = len(numbers) // 2
	return f'CASE WHEN :k < {first + half} THEN {tree(numbers[:half], first)} ELSE {tree(numbers[half:], first + half)} END'


def preamble(request, numbers):
	"""pgbench's commands that set the variables of a request's statement; writes take keys in turn, so that none comes twice."""
	what = key_of(request)
	if what is None:
		return ''
	lines = []
	if request.writes:
		with open(os.path.join(SQL, 'keys', 'number.sql'), encoding='utf-8') as file:
			lines.append(file.read())
		lines.append(f'\\set k mod(:number, {len(numbers)})\n')
	else:
		lines.append(f'\\set k random(0, {len(numbers) - 1})\n')
	lines.append(f'\\set {what} {tree(numbers)}\n')
	if request.writes and what == 'post':
		# as in run_sql/keys/liked_post.sql: users who have not liked the post
		lines.append('\\set user 8000000000000001 + mod((:post - 8000000000000000) * 7919 + :most_likes + :number / :stride, :users)\n')
	return ''.join(lines)


def key_of(request):
	"""Is it for a post, for a user, or neither?"""
	if 'none' in request.keys:
		return None
	return 'user' if request.keys[-1] in ('user', 'author') else 'post'


def script(request, numbers, path):
	"""Write a pgbench script of a request for those keys."""
	with open(path, 'w', encoding='utf-8') as out:
		out.write(preamble(request, numbers) + BLOGSTORE.statement(request))
	return path


REQUESTS = [BY_NAME[name] for name in ('get_user', 'create_post', 'get_post', 'list_user_posts', 'create_comment',
	'list_post_comments', 'create_like', 'list_post_likes', 'list_feed')]
