-- schema.sql
--		Version 3 in plain SQL: users and posts are hash partitioned, items of
--		all types lie together under their partition key, users hold short
--		copies of their posts, feed the newest 100 of all.
CREATE TABLE usernames (
	username_key	text NOT NULL,
	user_id			uuid NOT NULL
);
CREATE TABLE users (
	id				uuid NOT NULL,
	type			text NOT NULL,
	post_id			uuid,
	user_id			uuid NOT NULL,
	username		text,
	user_username	text,
	title			text,
	content			text,
	comment_count	bigint,
	like_count		bigint,
	creation_date	timestamptz NOT NULL DEFAULT now()
) PARTITION BY HASH (user_id);
CREATE TABLE posts (
	id				uuid NOT NULL,
	type			text NOT NULL,
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	user_username	text NOT NULL,
	title			text,
	content			text,
	comment_count	bigint,
	like_count		bigint,
	creation_date	timestamptz NOT NULL DEFAULT now()
) PARTITION BY HASH (post_id);
SELECT format('CREATE TABLE %s_%s PARTITION OF %s FOR VALUES WITH (MODULUS 16, REMAINDER %s) WITH (fillfactor = 80)',
	container, n, container, n)
FROM unnest(ARRAY['users', 'posts']) AS container, generate_series(0, 15) AS n \gexec
CREATE TABLE feed (LIKE posts INCLUDING DEFAULTS) WITH (fillfactor = 50);
