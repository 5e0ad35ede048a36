-- staging.sql
--		The staging tables of posts, comments and likes, for a slice of the
--		data set or for a small store.
CREATE UNLOGGED TABLE posts (
	n				bigint,
	post_id			uuid PRIMARY KEY,
	user_id			uuid,
	user_n			bigint,
	title			text,
	content			text,
	creation_date	timestamptz,
	comments		bigint,
	likes			bigint
);
CREATE UNLOGGED TABLE comments (
	comment_id		uuid,
	post_id			uuid,
	user_id			uuid,
	content			text,
	creation_date	timestamptz
);
CREATE UNLOGGED TABLE likes (
	like_id			uuid,
	post_id			uuid,
	user_id			uuid,
	creation_date	timestamptz
);
