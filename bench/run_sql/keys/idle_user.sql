-- idle_user.sql
--		The users who have written nothing, one after another. Within a run
--		each belongs to one client, so that the last name is the same for all
--		contestants.
\set user 8000000000000001 + :users + :client_id + :clients * mod(:base + :i, :idle_users / :clients)
