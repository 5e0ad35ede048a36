-- delete_post.sql
--		Delete one of the posts that no other script uses.
\set post 8000000000000000 + random(:live + 1, :posts)
SELECT blogstore.delete_post(post_id => ('0190000000007000' || :post)::uuid);
