-- schema.sql
--		The floor's posts with their counts in a table of their own, where plain SQL
--		would keep them that counts every like.
CREATE TABLE counters AS SELECT post_id, comment_count, like_count FROM floor.posts ORDER BY post_id;
ALTER TABLE counters ADD PRIMARY KEY (post_id);
VACUUM ANALYZE counters;
