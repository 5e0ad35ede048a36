SELECT * FROM blogstore.create_user(username => 'writer ' || :number);
