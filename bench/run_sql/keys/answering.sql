-- answering.sql
--		Posts in an order that looks random, each as often as all others, with
--		the comment that gets replies; and users in such an order.
\set post 8000000000000001 + permute(mod(:number, :posts), :posts)
\set comment 8000000000000026 + (:post - 8000000000000000) * 32
\set user 8000000000000001 + permute(mod(:number, :users), :users, 1 + :number / :users)
