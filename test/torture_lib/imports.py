"""Imports of a client's own users, posts, comments and likes, new and changed
ones.

The comments are on the client's own posts only. If another client deleted the
post meanwhile, the comment would be rejected, and the import would fail. The
likes are of the posts and comments of the import. They have no date, because a
like that exists with another date would be rejected.
"""

SOURCES = {
	'users': (('user_id', 'uuid'), ('username', 'text'), ('creation_date', 'timestamptz'), ('properties', 'jsonb')),
	'posts': (('post_id', 'uuid'), ('user_id', 'uuid'), ('title', 'text'), ('content', 'text'),
		('creation_date', 'timestamptz'), ('hidden', 'boolean'), ('properties', 'jsonb')),
	'comments': (('comment_id', 'uuid'), ('post_id', 'uuid'), ('user_id', 'uuid'), ('content', 'text'),
		('creation_date', 'timestamptz'), ('hidden', 'boolean'), ('parent_id', 'uuid'), ('properties', 'jsonb')),
	'likes': (('post_id', 'uuid'), ('user_id', 'uuid'), ('comment_id', 'uuid'), ('creation_date', 'timestamptz')),
}

WRITTEN = {
	'users': "SELECT * FROM blogstore.get_users(%s::uuid[])",
	'posts': "SELECT * FROM blogstore.get_posts(%s::uuid[])",
	'comments': """SELECT c.* FROM (SELECT DISTINCT post_id FROM pg_temp.source_comments) p,
		LATERAL blogstore.list_post_comments(p.post_id, NULL, include_hidden => true) c WHERE c.id = ANY (%s::uuid[])""",
	'likes': """SELECT l.* FROM pg_temp.source_likes s, LATERAL blogstore.get_like(s.post_id, s.user_id, s.comment_id) l
		WHERE s.post_id = ANY (%s::uuid[])""",
}


def draw(plan, forecast):
	"""Draw the rows of an import: of each kind, existing and new ones."""
	random = plan.random
	users, posts, comments = [], [], []
	for user in random.sample(list(forecast.users), min(2, len(forecast.users))):
		users.append({
			'user_id': user, 'username': plan.name(forecast) if random.random() < 0.5 else forecast.users[user],
			'creation_date': None, 'properties': plan.properties()})
	for post in random.sample(list(forecast.posts), min(4, len(forecast.posts))):
		hidden = plan.changed(forecast, post) if random.random() < 0.5 else post in forecast.hidden
		# If the worker may have shown a post, its date is not known.
		hidden = hidden and post not in forecast.soon
		posts.append({
			'post_id': post, 'user_id': forecast.posts[post], 'title': plan.text(1, 40), 'content': plan.content(),
			'creation_date': plan.date() if post in forecast.hidden and not hidden and random.random() < 0.5 else None,
			'hidden': hidden, 'properties': plan.properties()})
	if len(forecast.posts) < plan.most['posts']:
		posts.append({
			'post_id': plan.id(), 'user_id': plan.one_of(forecast.users), 'title': plan.text(1, 40), 'content': plan.content(),
			'creation_date': plan.date(), 'hidden': random.random() < 0.3, 'properties': plan.properties()})
	own = [comment for comment, item in forecast.comments.items() if item[0] in forecast.posts]
	for comment in random.sample(own, min(6, len(own))):
		post, user = forecast.comments[comment]
		parent = plan.parent(forecast, post)
		comments.append({
			'comment_id': comment, 'post_id': post, 'user_id': user, 'content': plan.text(1, 120), 'creation_date': None,
			'hidden': plan.changed(forecast, comment) if random.random() < 0.5 else comment in forecast.hidden,
			'parent_id': parent if parent != comment else None, 'properties': plan.properties()})
	if posts and len(forecast.comments) + 2 < plan.most['comments']:
		for _ in range(2):
			post = plan.one_of([post['post_id'] for post in posts])
			comments.append({
				'comment_id': plan.id(), 'post_id': post, 'parent_id': plan.parent(forecast, post),
				'user_id': plan.one_of(forecast.users), 'content': plan.text(1, 120), 'creation_date': plan.date(),
				'hidden': random.random() < 0.3, 'properties': plan.properties()})
	liked = [(post['post_id'], None) for post in posts] + [(comment['post_id'], comment['comment_id']) for comment in comments]
	likes = [{'post_id': post, 'user_id': plan.one_of(forecast.users), 'comment_id': comment, 'creation_date': None}
		for post, comment in random.sample(liked, min(4, len(liked)))]
	return {'users': users, 'posts': posts, 'comments': comments, 'likes': likes}


def forecast_apply(forecast, args):
	"""Apply an import to the forecast."""
	for row in args['users']:
		name = forecast.users.get(row['user_id'])
		if name not in (None, row['username']):
			forecast.free_names.append(name)
		forecast.users[row['user_id']] = row['username']
	for row in args['posts']:
		forecast.posts[row['post_id']] = row['user_id']
		forecast.hide(row['post_id'], row['hidden'])
	for row in args['comments']:
		forecast.comments[row['comment_id']] = (row['post_id'], row['user_id'])
		forecast.hide(row['comment_id'], row['hidden'])
	for row in args['likes']:
		forecast.likes[row['post_id'], row['user_id'], row['comment_id']] = None


def play(cursor, args):
	"""Import the rows. Return the resulting rows: kind -> key -> row (a dict).
	The key is the id; of a like, which gets a new id, what identifies it.
	"""
	given = []
	for kind, columns in SOURCES.items():
		declared = ', '.join(' '.join(column) for column in columns)
		cursor.execute(f'CREATE TEMP TABLE source_{kind} ({declared}) ON COMMIT DROP')
		for row in args[kind]:
			values = ', '.join(f'%({name})s' for name, _ in columns)
			cursor.execute(f'INSERT INTO pg_temp.source_{kind} VALUES ({values})', row)
		given.append(f"{kind} => 'pg_temp.source_{kind}'")
	cursor.execute(f"SELECT count(*) FROM blogstore.import({', '.join(given)}, changed => 'update')")
	outcome = {}
	for kind, columns in SOURCES.items():
		cursor.execute(WRITTEN[kind], ([row[columns[0][0]] for row in args[kind]],))
		names = [column.name for column in cursor.description]
		rows = [dict(zip(names, row)) for row in cursor.fetchall()]
		outcome[kind] = {(row['post_id'], row['user_id'], row['comment_id']) if kind == 'likes' else row['id']: row for row in rows}
	return outcome
