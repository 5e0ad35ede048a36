-- slice.sql
--		What the article's items do not have, added to a slice in staging: two
--		properties of each post, a comment on it that others answer, and every
--		third comment an answer to that.
SET search_path = staging;
ALTER TABLE posts ADD COLUMN IF NOT EXISTS properties jsonb;
ALTER TABLE comments ADD COLUMN IF NOT EXISTS parent_id uuid;

UPDATE posts SET comments = comments + 1,
	properties = jsonb_build_object('slug', 'post-number-' || n, 'tags', jsonb_build_array('tag ' || n % 100, 'tag ' || n % 7));
UPDATE comments SET parent_id = dataset.child_id(answered.n * 32 + 26)
FROM posts AS answered
WHERE answered.post_id = comments.post_id AND hashint8(extract(microseconds FROM comments.creation_date)::bigint) % 3 = 0;
INSERT INTO comments (comment_id, post_id, user_id, content, creation_date)
SELECT dataset.child_id(n * 32 + 26), post_id, user_id, 'What do you think?', creation_date FROM posts;

VACUUM FULL ANALYZE posts, comments;
