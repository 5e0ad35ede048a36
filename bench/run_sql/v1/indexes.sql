-- indexes.sql
--		Keys, foreign keys, and an index for each request that can use one;
--		also indexes of a user's items, for renames and deletions.
ALTER TABLE users ADD PRIMARY KEY (user_id);
CREATE UNIQUE INDEX ON users (lower(username));
ALTER TABLE posts ADD PRIMARY KEY (post_id);
CREATE INDEX ON posts (user_id, creation_date, post_id);
CREATE INDEX ON posts (creation_date, post_id);
ALTER TABLE comments ADD PRIMARY KEY (comment_id);
CREATE INDEX ON comments (post_id, creation_date, comment_id);
CREATE INDEX ON comments (user_id);
ALTER TABLE likes ADD PRIMARY KEY (user_id, post_id);
CREATE INDEX ON likes (post_id, creation_date, like_id);
ALTER TABLE posts ADD FOREIGN KEY (user_id) REFERENCES users;
ALTER TABLE comments ADD FOREIGN KEY (post_id) REFERENCES posts, ADD FOREIGN KEY (user_id) REFERENCES users;
ALTER TABLE likes ADD FOREIGN KEY (post_id) REFERENCES posts, ADD FOREIGN KEY (user_id) REFERENCES users;
