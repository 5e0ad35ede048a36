-- create_user.sql
--		Create a user with a new name. The name has an id and no random number,
--		because the next run with the same seed repeats the random numbers.
SELECT * FROM blogstore.create_user(username => 'comer ' || blogstore.new_id());
