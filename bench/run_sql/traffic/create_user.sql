-- create_user.sql
--		Somebody comes.
\set number random(1, 1000000000000)
SELECT * FROM blogstore.create_user(username => 'comer ' || :number || ' ' || :client_id);
