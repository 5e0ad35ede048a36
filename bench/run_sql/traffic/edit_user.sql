-- edit_user.sql
--		A user that has written nothing takes a new name, which is not used
--		yet.
\set user 8000000000000000 + :users + random(1, :idle_users)
SELECT * FROM blogstore.edit_user(user_id => ('0180000000007000' || :user)::uuid, username => 'named ' || blogstore.new_id());
