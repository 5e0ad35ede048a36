-- slice.sql
--		Posts number :first to :last, their comments and likes, in the staging
--		tables. The comments and likes are of within a month of the post; the
--		microseconds keep their dates apart.
SET search_path = staging;
TRUNCATE posts, comments, likes;

INSERT INTO posts
SELECT n, post_id, user_id, user_n, 'Post number ' || n,
	prose(n, 100 * :seed + 2, 20 + pick(n, 100 * :seed + 3, 7)),
	creation_date, comments, likes
FROM all_posts WHERE n BETWEEN :first AND :last ORDER BY n;

INSERT INTO comments
SELECT child_id(posts.n * 32 + k), post_id, user_id(1 + pick(posts.n * 32 + k, 100 * :seed + 8, :users)),
	prose(posts.n * 32 + k, 100 * :seed + 9, 1 + pick(posts.n * 32 + k, 100 * :seed + 10, 4)),
	creation_date + pick(posts.n * 32 + k, 100 * :seed + 11, 2592000000) * interval '1 millisecond'
		+ k * interval '1 microsecond'
FROM posts, LATERAL generate_series(1, comments) AS k;

INSERT INTO likes
SELECT child_id(posts.n * 128 + k), post_id, user_id(1 + (posts.n * 7919 + k) % :users),
	creation_date + pick(posts.n * 128 + k, 100 * :seed + 12, 2592000000) * interval '1 millisecond'
		+ k * interval '1 microsecond'
FROM posts, LATERAL generate_series(0, likes - 1) AS k;

VACUUM ANALYZE posts, comments, likes;
