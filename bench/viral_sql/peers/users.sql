-- users.sql
--		Users number 0 to :users - 1.
INSERT INTO users (user_id, username) SELECT user_id, username FROM dataset.scattered_users(:users);
