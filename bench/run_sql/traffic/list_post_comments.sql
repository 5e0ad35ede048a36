-- list_post_comments.sql
--		A post's newest comments.
\set post 8000000000000001 + permute(random_zipfian(1, :live, 1.1) - 1, :live)
SELECT * FROM blogstore.list_post_comments(post_id => ('0190000000007000' || :post)::uuid);
