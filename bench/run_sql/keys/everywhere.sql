-- everywhere.sql
--		Each user in turn, each on another post, of as many posts as there are
--		users. In the next turn each user comes to a post that another one has
--		liked before.
\set user 8000000000000001 + mod(:number, :users)
\set post 8000000000000001 + permute(mod(:number + :number / :users, :users), :users)
