-- schema.sql
--		Version 2: counts and names of authors are stored with the items, and
--		each command keeps them, in the same statement. Posts leave room for
--		HOT updates of counts. What the tables have in common with version 1
--		is written twice, so that each version can be read by itself.
CREATE TABLE users (
	user_id			uuid NOT NULL DEFAULT blogstore.new_id(),
	username		text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE posts (
	post_id			uuid NOT NULL DEFAULT blogstore.new_id(),
	user_id			uuid NOT NULL,
	user_username	text NOT NULL,
	title			text NOT NULL,
	content			text NOT NULL,
	comment_count	bigint NOT NULL DEFAULT 0,
	like_count		bigint NOT NULL DEFAULT 0,
	creation_date	timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);
CREATE TABLE comments (
	comment_id		uuid NOT NULL DEFAULT blogstore.new_id(),
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	user_username	text NOT NULL,
	content			text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE likes (
	like_id			uuid NOT NULL DEFAULT blogstore.new_id(),
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	user_username	text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
);
