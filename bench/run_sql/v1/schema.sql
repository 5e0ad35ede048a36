-- schema.sql
--		Version 1: normalised. Names are stored once and counts not at all:
--		requests join and count. The function of blogstore makes the ids.
CREATE TABLE users (
	user_id			uuid NOT NULL DEFAULT blogstore.new_id(),
	username		text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE posts (
	post_id			uuid NOT NULL DEFAULT blogstore.new_id(),
	user_id			uuid NOT NULL,
	title			text NOT NULL,
	content			text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE comments (
	comment_id		uuid NOT NULL DEFAULT blogstore.new_id(),
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	content			text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE likes (
	like_id			uuid NOT NULL DEFAULT blogstore.new_id(),
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
);
