-- create_like.sql
--		A random user likes a popular post. A second like by the same user
--		changes nothing.
\set post 8000000000000001 + permute(random_zipfian(1, :live, 1.1) - 1, :live)
\set user 8000000000000000 + random(1, :users)
SELECT * FROM blogstore.create_like(post_id => ('0190000000007000' || :post)::uuid, user_id => ('0180000000007000' || :user)::uuid);
