-- everybody.sql
--		Each user in turn, on one post; the next post when all users have liked it.
\set user 8000000000000001 + mod(:number, :users)
\set post 8000000000000001 + :users + :number / :users
