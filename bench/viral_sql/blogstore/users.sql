-- users.sql
--		Users number 0 to :users - 1.
SELECT count(blogstore.create_user(username, user_id)) FROM dataset.scattered_users(:users);
