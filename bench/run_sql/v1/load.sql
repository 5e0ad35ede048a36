-- load.sql
--		Version 1 from a slice in staging.
INSERT INTO posts SELECT post_id, user_id, title, content, creation_date FROM staging.posts;
INSERT INTO comments SELECT comment_id, post_id, user_id, content, creation_date FROM staging.comments;
INSERT INTO likes SELECT like_id, post_id, user_id, creation_date FROM staging.likes;
