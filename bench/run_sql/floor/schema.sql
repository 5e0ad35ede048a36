-- schema.sql
--		The floor: a plain table for each request, which holds ready what the
--		request returns, and the indexes that blogstore has. What one statement
--		on one table can do; nothing keeps the tables in step.
CREATE TABLE users (
	id				uuid NOT NULL DEFAULT blogstore.new_id(),
	type			text NOT NULL DEFAULT 'user',
	user_id			uuid NOT NULL,
	username		text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 90);
CREATE TABLE posts (
	id				uuid NOT NULL,
	type			text NOT NULL DEFAULT 'post',
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	user_username	text NOT NULL,
	title			text NOT NULL,
	content			text NOT NULL,
	comment_count	bigint NOT NULL DEFAULT 0,
	like_count		bigint NOT NULL DEFAULT 0,
	creation_date	timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);
CREATE TABLE user_posts (LIKE posts);
CREATE TABLE feed (LIKE posts);
CREATE TABLE comments (
	id				uuid NOT NULL DEFAULT blogstore.new_id(),
	type			text NOT NULL DEFAULT 'comment',
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	user_username	text NOT NULL,
	content			text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE likes (
	id				uuid NOT NULL DEFAULT blogstore.new_id(),
	type			text NOT NULL DEFAULT 'like',
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	user_username	text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
);
