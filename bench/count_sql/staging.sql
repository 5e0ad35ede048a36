-- staging.sql
--		What V1, the floor and blogstore are made of: the article's data set of :users
--		users, or, with :posts above 0, so many posts with nothing on them.
CREATE SCHEMA s;
CREATE UNLOGGED TABLE s.users AS
SELECT n, user_id, 'member ' || n AS username, creation_date FROM dataset.users(:users, 7, '2023-01-01 00:00:00+00');
CREATE UNLOGGED TABLE s.posts AS
SELECT n, post_id, user_id, 'About ' || n AS title, dataset.content(n, 7) AS content, creation_date, comments, likes
FROM dataset.posts(:users, 7, '2023-01-01 00:00:00+00') WHERE :posts = 0
UNION ALL
SELECT n, dataset.post_id(n), dataset.user_id(1 + n % :users), 'About ' || n, dataset.content(n, 7),
	timestamptz '2023-01-01 00:00:00+00' + n * interval '1 minute', 0, 0
FROM generate_series(1, :posts) AS n;
CREATE UNLOGGED TABLE s.comments AS
SELECT c.comment_id, p.post_id, c.user_id, c.content, c.creation_date
FROM s.posts AS p, dataset.comments(p.n, p.creation_date, 1, p.comments, :users, 7) AS c;
CREATE UNLOGGED TABLE s.likes AS
SELECT l.like_id, p.post_id, l.user_id, l.creation_date
FROM s.posts AS p, dataset.likes(p.n, p.creation_date, 0, p.likes - 1, :users, 7) AS l;
ANALYZE s.users, s.posts, s.comments, s.likes;
