-- users.sql
--		Version 3's users from staging.
INSERT INTO usernames SELECT lower(username), user_id FROM staging.users;
INSERT INTO users (id, type, user_id, username, creation_date)
SELECT user_id, 'user', user_id, username, creation_date FROM staging.users;
