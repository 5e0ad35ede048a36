SELECT id, type, user_id, username, creation_date
FROM blogstore.create_user(username => 'writer ' || :number);
