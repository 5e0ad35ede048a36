-- schema.sql
--		The posts of the floor, with their counts in a table of their own.
--		Plain SQL that counts every like would keep them there.
CREATE TABLE counters AS SELECT post_id, comment_count, like_count FROM floor.posts ORDER BY post_id;
ALTER TABLE counters ADD PRIMARY KEY (post_id);
VACUUM ANALYZE counters;
