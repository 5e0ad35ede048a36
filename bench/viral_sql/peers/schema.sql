-- schema.sql
--		What both peers share: plain normalised tables that give the same
--		guarantees: one like per user and post, no item without its post and
--		user, every list newest first by an index, a user's items by an index.
--
-- Ids are made by the same function as blogstore's; posts have the fillfactor
-- that blogstore's have, which lets updates of counts be HOT.
CREATE EXTENSION blogstore;

CREATE TABLE users (
	user_id			uuid PRIMARY KEY,
	username		text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX ON users (lower(username));

CREATE TABLE posts (
	post_id			uuid PRIMARY KEY,
	user_id			uuid NOT NULL REFERENCES users,
	title			text NOT NULL,
	content			text NOT NULL,
	comment_count	bigint NOT NULL DEFAULT 0,
	like_count		bigint NOT NULL DEFAULT 0,
	creation_date	timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);
CREATE INDEX ON posts (user_id, creation_date, post_id);
CREATE INDEX ON posts (creation_date, post_id);

CREATE TABLE comments (
	id				uuid NOT NULL DEFAULT blogstore.new_id(),
	post_id			uuid NOT NULL REFERENCES posts,
	user_id			uuid NOT NULL REFERENCES users,
	content			text NOT NULL,
	creation_date	timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (post_id, id)
);
CREATE INDEX ON comments (post_id, creation_date, id);
CREATE INDEX ON comments (user_id, id);

CREATE TABLE likes (
	id				uuid NOT NULL DEFAULT blogstore.new_id(),
	post_id			uuid NOT NULL REFERENCES posts,
	user_id			uuid NOT NULL REFERENCES users,
	creation_date	timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (user_id, post_id)
);
CREATE INDEX ON likes (post_id, creation_date, id);
