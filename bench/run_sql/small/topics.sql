-- topics.sql
--		:posts posts of about 1 kB, by :users users in turn. There are as many
--		topics as users, and the posts of a topic are by different users.
SELECT count(blogstore.create_post(dataset.user_id(1 + n % :users), 'Post number ' || n, dataset.content(n, :seed), dataset.post_id(n),
	timestamptz '2023-01-01 00:00:00+00' + n * interval '1 minute',
	jsonb_build_object('tags', 'topic ' || (8000000000000001 + (n + n / :users) % :users))))
FROM generate_series(1, :posts) AS n;
