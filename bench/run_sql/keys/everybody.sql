-- everybody.sql
--		Each user in turn, on one post; then the next post, when all users
--		have liked this one.
\set user 8000000000000001 + mod(:number, :users)
\set post 8000000000000001 + :users + :number / :users
