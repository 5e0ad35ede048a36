-- users.sql
--		The floor's users from staging.
INSERT INTO users
SELECT user_id, 'user', user_id, username, creation_date FROM staging.users;
