-- keys.sql
--		The indexes that blogstore's containers have for these rows.
ALTER TABLE users ADD PRIMARY KEY (user_id);
CREATE UNIQUE INDEX ON users (lower(username));
ALTER TABLE posts ADD PRIMARY KEY (post_id);
CREATE UNIQUE INDEX ON posts (user_id, creation_date, id);
CREATE INDEX ON posts (creation_date, id);
ALTER TABLE comments ADD PRIMARY KEY (post_id, id);
CREATE INDEX ON comments (post_id, creation_date, id);
CREATE INDEX ON comments (user_id, creation_date, id);
ALTER TABLE likes ADD PRIMARY KEY (user_id, post_id);
CREATE INDEX ON likes (post_id, creation_date, id);
