-- slice.sql
--		Posts number :first to :last, their comments and likes, in the staging
--		tables.
SET search_path = staging;
TRUNCATE posts, comments, likes;

INSERT INTO posts
SELECT n, post_id, user_id, user_n, 'Post number ' || n, dataset.content(n, :seed), creation_date, comments, likes
FROM all_posts WHERE n BETWEEN :first AND :last ORDER BY n;

INSERT INTO comments
SELECT c.comment_id, p.post_id, c.user_id, c.content, c.creation_date
FROM posts AS p, dataset.comments(p.n, p.creation_date, 1, p.comments, :users, :seed) AS c;

INSERT INTO likes
SELECT l.like_id, p.post_id, l.user_id, l.creation_date
FROM posts AS p, dataset.likes(p.n, p.creation_date, 0, p.likes - 1, :users, :seed) AS l;

VACUUM ANALYZE posts, comments, likes;
