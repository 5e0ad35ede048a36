-- floor_comments.sql
--		The floor's comments: the same, written in the same order.
INSERT INTO floor.comments
SELECT id, 'comment', post_id, user_id, user_username, content, creation_date FROM blogstore.posts WHERE type = 'comment' ORDER BY creation_date, id;
