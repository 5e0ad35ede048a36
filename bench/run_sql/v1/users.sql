-- users.sql
--		Version 1's users, and version 2's, from staging.
INSERT INTO users SELECT user_id, username, creation_date FROM staging.users;
