-- demo_v1.sql
--		The same data the way the article starts: version 1, normalised.
--
-- Four tables, keys, foreign keys, and an index for each request that has a
-- use for one. Names and counts are nowhere stored twice: requests join and
-- count. psql gives :part, so that two sessions can share the work.

\set ON_ERROR_STOP on

SELECT :'part' = 'tables' AS tables, :'part' = 'first' AS first,
	:'part' = 'second' AS second, :'part' = 'keys' AS keys \gset

\if :tables
CREATE SCHEMA v1;
CREATE TABLE v1.users (
	user_id			uuid NOT NULL,
	username		text NOT NULL,
	creation_date	timestamptz NOT NULL
);
CREATE TABLE v1.posts (
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	title			text NOT NULL,
	content			text NOT NULL,
	creation_date	timestamptz NOT NULL
);
CREATE TABLE v1.comments (
	comment_id		uuid NOT NULL,
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	content			text NOT NULL,
	creation_date	timestamptz NOT NULL
);
CREATE TABLE v1.likes (
	like_id			uuid NOT NULL,
	post_id			uuid NOT NULL,
	user_id			uuid NOT NULL,
	creation_date	timestamptz NOT NULL
);
\endif

\if :first
INSERT INTO v1.users SELECT user_id, username, creation_date FROM blogstore.users WHERE type = 'user';
ALTER TABLE v1.users ADD PRIMARY KEY (user_id);
CREATE UNIQUE INDEX ON v1.users (lower(username));

INSERT INTO v1.posts SELECT post_id, user_id, title, content, creation_date FROM blogstore.posts WHERE type = 'post';
ALTER TABLE v1.posts ADD PRIMARY KEY (post_id);
CREATE INDEX ON v1.posts (user_id, creation_date DESC, post_id DESC);
CREATE INDEX ON v1.posts (creation_date DESC, post_id DESC);

INSERT INTO v1.comments SELECT id, post_id, user_id, content, creation_date FROM blogstore.posts WHERE type = 'comment';
ALTER TABLE v1.comments ADD PRIMARY KEY (comment_id);
CREATE INDEX ON v1.comments (post_id, creation_date DESC, comment_id DESC);
CREATE INDEX ON v1.comments (user_id);
\endif

\if :second
INSERT INTO v1.likes SELECT id, post_id, user_id, creation_date FROM blogstore.posts WHERE type = 'like';
ALTER TABLE v1.likes ADD PRIMARY KEY (post_id, user_id);
CREATE INDEX ON v1.likes (post_id, creation_date DESC, like_id DESC);
CREATE INDEX ON v1.likes (user_id);
\endif

\if :keys
ALTER TABLE v1.posts ADD FOREIGN KEY (user_id) REFERENCES v1.users;
ALTER TABLE v1.comments ADD FOREIGN KEY (post_id) REFERENCES v1.posts;
ALTER TABLE v1.comments ADD FOREIGN KEY (user_id) REFERENCES v1.users;
ALTER TABLE v1.likes ADD FOREIGN KEY (post_id) REFERENCES v1.posts;
ALTER TABLE v1.likes ADD FOREIGN KEY (user_id) REFERENCES v1.users;
\endif
