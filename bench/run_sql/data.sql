-- data.sql
--		The staging tables that contestants are loaded from. This file fills
--		in all users, and the author and date of every post; slice.sql fills
--		the other tables. scripts/sql/dataset.sql generates the data.
--
-- Comments and likes are stored in the order of their posts, as import()
-- writes them, so that no contestant gains from the order.
--
-- Besides, there are :idle_users who have written nothing: edit_user renames
-- them. The tables are unlogged, because they are only read after this.
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
