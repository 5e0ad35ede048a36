-- comments.sql
--		A comment on each of :posts posts in turn, as a living site has them: those on
--		one post lie apart. Number :n on each.
SELECT count(blogstore.create_comment(dataset.post_id(p), dataset.user_id(1 + (p + :n) % :users), dataset.content(p, :n)))
FROM generate_series(1, :posts) AS p;
