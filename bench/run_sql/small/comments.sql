-- comments.sql
--		Comment number :n on each of :posts posts in turn. So the comments on
--		one post are not stored side by side, as on a site in use.
SELECT count(blogstore.create_comment(dataset.post_id(p), dataset.user_id(1 + (p + :n) % :users), dataset.content(p, :n)))
FROM generate_series(1, :posts) AS p;
