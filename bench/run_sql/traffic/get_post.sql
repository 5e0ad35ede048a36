-- get_post.sql
--		A post, popular ones far more often.
\set post 8000000000000001 + permute(random_zipfian(1, :live, 1.1) - 1, :live)
SELECT * FROM blogstore.get_post(post_id => ('0190000000007000' || :post)::uuid);
