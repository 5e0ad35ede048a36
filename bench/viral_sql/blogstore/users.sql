-- users.sql
--		Users number 0 to :users - 1.
SELECT count(blogstore.create_user('user ' || n, md5('u' || n)::uuid))
FROM generate_series(0, :users - 1) AS n;
