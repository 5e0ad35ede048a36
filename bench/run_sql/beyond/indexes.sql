-- indexes.sql
--		The indexes that the lists beyond the article's read.
\ir ../floor/keys.sql
CREATE INDEX ON comments (post_id, parent_id, creation_date, id) WHERE parent_id IS NOT NULL;
