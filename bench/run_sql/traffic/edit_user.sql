-- edit_user.sql
--		Somebody who has written nothing takes another name.
\set number random(1, 1000000000000)
\set user 8000000000000000 + :users + random(1, :idle_users)
SELECT * FROM blogstore.edit_user(user_id => ('0180000000007000' || :user)::uuid, username => 'named ' || :number || ' ' || :client_id);
