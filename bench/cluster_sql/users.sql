-- users.sql
--		All users, which every node of a cluster has.
SELECT count(blogstore.create_user(username, user_id, creation_date)) FROM staging.users;
