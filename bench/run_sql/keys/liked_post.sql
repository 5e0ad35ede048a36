-- liked_post.sql
--		Posts in an order that looks random, each as often as all others; and a
--		user who has not liked it: likes of the data set come from users up to
--		:most_likes after the post's number times 7919, these from beyond.
\set n permute(mod(:number, :posts), :posts) + 1
\set post 8000000000000000 + :n
\set user 8000000000000001 + mod(:n * 7919 + :most_likes + :number / :posts, :users)
