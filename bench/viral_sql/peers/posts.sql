-- posts.sql
--		:posts posts from number :first on, of some 820 characters; a higher
--		number is a newer post.
INSERT INTO posts (post_id, user_id, title, content, creation_date)
SELECT md5('p' || n)::uuid, md5('u' || mod(n, :users))::uuid, 'Post number ' || n,
	(SELECT string_agg(md5(n || ' ' || k), ' ') FROM generate_series(1, 25) AS k),
	timestamptz '2024-01-01 00:00:00+00' + n * interval '1 minute'
FROM generate_series(:first, :first + :posts - 1) AS n;
