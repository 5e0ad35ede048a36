-- author.sql
--		Users in an order that looks random, each as often as all others.
\set user 8000000000000001 + permute(mod(:number, :users), :users, :number / :users)
