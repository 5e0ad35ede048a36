-- mine.sql
--		The posts and users that belong to this server, numbered from 0. On
--		one machine, and on the coordinator of a cluster, these are all.
CREATE FUNCTION staging.is_mine(key uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
		RETURN true;
	END IF;
	RETURN (SELECT port = current_setting('port')::int FROM blogstore.node_of(key));
END $$;
CREATE UNLOGGED TABLE staging.mine AS
SELECT post_id FROM staging.all_posts WHERE staging.is_mine(post_id) ORDER BY n;
CREATE UNLOGGED TABLE staging.mine_users AS
SELECT user_id FROM staging.users WHERE username LIKE 'author %' AND staging.is_mine(user_id) ORDER BY n;
ALTER TABLE staging.mine ADD PRIMARY KEY (post_id);
VACUUM ANALYZE staging.mine, staging.mine_users;
