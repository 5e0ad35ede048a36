-- plain_read.sql
--		Read a row of a plain table that is never written.
\set user 8000000000000001 + permute(random_zipfian(1, :users, 1.1) - 1, :users)
SELECT id, type, user_id, username, creation_date FROM plain.users WHERE user_id = ('0180000000007000' || :user)::uuid;
