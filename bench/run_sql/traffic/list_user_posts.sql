-- list_user_posts.sql
--		An author's posts, popular ones far more often.
\set user 8000000000000001 + permute(random_zipfian(1, :users, 1.1) - 1, :users)
SELECT * FROM blogstore.list_user_posts(user_id => ('0180000000007000' || :user)::uuid);
