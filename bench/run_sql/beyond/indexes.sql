-- indexes.sql
--		The indexes that the lists beyond the article's read.
\ir ../floor/keys.sql
CREATE INDEX ON comments (post_id, parent_id, creation_date, id) WHERE parent_id IS NOT NULL;
ALTER TABLE user_posts ADD PRIMARY KEY (user_id, creation_date, id);
ALTER TABLE follows ADD PRIMARY KEY (user_id, followed_id);
