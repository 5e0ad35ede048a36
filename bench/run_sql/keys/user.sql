-- user.sql
--		Any user who writes.
\set user 8000000000000000 + random(1, :users)
