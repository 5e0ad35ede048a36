-- busy_user.sql
--		The first user likes one post after another.
\set post 8000000000000001 + mod(:number, :posts)
\set user 8000000000000001
