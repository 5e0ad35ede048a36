-- commented_post.sql
--		Posts in an order that looks random, each as often as all others; and
--		users in such an order.
\set post 8000000000000001 + permute(mod(:number, :posts), :posts)
\set user 8000000000000001 + permute(mod(:number, :users), :users, 1 + :number / :users)
