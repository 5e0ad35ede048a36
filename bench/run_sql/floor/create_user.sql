INSERT INTO users (user_id, username) VALUES (blogstore.new_id(), 'writer ' || :number)
RETURNING id, type, user_id, username, creation_date;
