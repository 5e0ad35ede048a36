SELECT * FROM blogstore.list_feed();
