-- create_user.sql
--		Somebody comes, whose name nobody has had: random numbers of a seed come
--		again in the next run.
SELECT * FROM blogstore.create_user(username => 'comer ' || blogstore.new_id());
