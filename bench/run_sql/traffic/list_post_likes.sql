-- list_post_likes.sql
--		A post's newest likes.
\set post 8000000000000001 + permute(random_zipfian(1, :live, 1.1) - 1, :live)
SELECT * FROM blogstore.list_post_likes(post_id => ('0190000000007000' || :post)::uuid);
