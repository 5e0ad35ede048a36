-- data.sql
--		The staging tables of a small store for counting: :users users have
--		written :posts posts of about 1 kB in turn. There are no comments and
--		no likes yet.
CREATE SCHEMA staging;
SET search_path = staging;

CREATE UNLOGGED TABLE users AS
SELECT n, user_id, 'author ' || n AS username, creation_date
FROM dataset.users(:users, :seed, '2023-01-01 00:00:00+00');

\ir ../staging.sql
INSERT INTO posts
SELECT n, dataset.post_id(n), dataset.user_id(1 + n % :users), 1 + n % :users, 'Post number ' || n, dataset.content(n, :seed),
	timestamptz '2023-01-01 00:00:00+00' + n * interval '1 minute', 0, 0
FROM generate_series(1, :posts) AS n;

-- The user and the post of one write after another; the clients' scripts call
-- them :user and :post
CREATE UNLOGGED TABLE targets (
	kind			text,
	n				bigint,
	post			bigint,
	"user"			bigint,
	PRIMARY KEY (kind, n)
);
