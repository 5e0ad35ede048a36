INSERT INTO users (username) VALUES ('writer ' || :number)
RETURNING user_id AS id, 'user' AS type, user_id, username, creation_date;
