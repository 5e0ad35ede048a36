-- v1.sql
--		A site's plain tables, normalised, with their keys and the indexes that its
--		requests need; keys come after the rows.
CREATE SCHEMA v1;
CREATE TABLE v1.users AS SELECT user_id, username, creation_date FROM s.users ORDER BY n;
CREATE TABLE v1.posts AS SELECT post_id, user_id, title, content, creation_date FROM s.posts ORDER BY n;
CREATE TABLE v1.comments AS SELECT comment_id, post_id, user_id, content, creation_date FROM s.comments;
CREATE TABLE v1.likes AS SELECT like_id, post_id, user_id, creation_date FROM s.likes;
ALTER TABLE v1.users ADD PRIMARY KEY (user_id);
CREATE UNIQUE INDEX ON v1.users (lower(username));
ALTER TABLE v1.posts ADD PRIMARY KEY (post_id), ADD FOREIGN KEY (user_id) REFERENCES v1.users;
CREATE INDEX ON v1.posts (user_id, creation_date, post_id);
CREATE INDEX ON v1.posts (creation_date, post_id);
ALTER TABLE v1.comments ADD PRIMARY KEY (comment_id), ALTER comment_id SET DEFAULT blogstore.new_id(), ALTER creation_date SET DEFAULT now(),
	ADD FOREIGN KEY (post_id) REFERENCES v1.posts, ADD FOREIGN KEY (user_id) REFERENCES v1.users;
CREATE INDEX ON v1.comments (post_id, creation_date, comment_id);
CREATE INDEX ON v1.comments (user_id);
ALTER TABLE v1.likes ADD PRIMARY KEY (user_id, post_id), ALTER like_id SET DEFAULT blogstore.new_id(), ALTER creation_date SET DEFAULT now(),
	ADD FOREIGN KEY (post_id) REFERENCES v1.posts, ADD FOREIGN KEY (user_id) REFERENCES v1.users;
CREATE INDEX ON v1.likes (post_id, creation_date, like_id);
