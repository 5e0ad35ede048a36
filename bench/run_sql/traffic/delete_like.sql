-- delete_like.sql
--		The newest like of a popular post is taken back.
\set post 8000000000000001 + permute(random_zipfian(1, :live, 1.1) - 1, :live)
SELECT blogstore.delete_like(l.post_id, l.user_id) FROM blogstore.list_post_likes(post_id => ('0190000000007000' || :post)::uuid, page_size => 1) AS l;
