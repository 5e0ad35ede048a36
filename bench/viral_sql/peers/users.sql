-- users.sql
--		Users number 0 to :users - 1.
INSERT INTO users (user_id, username)
SELECT md5('u' || n)::uuid, 'user ' || n FROM generate_series(0, :users - 1) AS n;
