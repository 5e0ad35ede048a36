-- data.sql
--		The staging tables that contestants are loaded from: here all users, and
--		who has written which post when; slice.sql fills the others. Where the data
--		come from is in scripts/sql/dataset.sql.
--
-- Comments and likes lie together by post, as import() puts them, so that no
-- contestant has an advantage from it.
--
-- Besides, :idle_users who have written nothing: edit_user renames them. Staging is
-- not logged: it is made once, and only read.
CREATE SCHEMA staging;
SET search_path = staging;

CREATE UNLOGGED TABLE users AS
SELECT n, user_id, CASE WHEN n <= :users THEN 'author ' ELSE 'reader ' END || n AS username, creation_date
FROM dataset.users(:users + :idle_users, :seed, '2023-01-01 00:00:00+00');

CREATE UNLOGGED TABLE all_posts AS
SELECT * FROM dataset.posts(:users, :seed, '2023-01-01 00:00:00+00');

ALTER TABLE users ADD PRIMARY KEY (user_id);
ALTER TABLE all_posts ADD PRIMARY KEY (n);
VACUUM ANALYZE users, all_posts;

\ir staging.sql
