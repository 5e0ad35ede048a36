-- posts.sql
--		:posts posts from number :first on, of some 820 characters; a higher
--		number is a newer post.
SELECT count(blogstore.create_post(
	user_id => md5('u' || mod(n, :users))::uuid,
	title => 'Post number ' || n,
	content => (SELECT string_agg(md5(n || ' ' || k), ' ') FROM generate_series(1, 25) AS k),
	post_id => md5('p' || n)::uuid,
	creation_date => timestamptz '2024-01-01 00:00:00+00' + n * interval '1 minute'))
FROM generate_series(:first, :first + :posts - 1) AS n;
