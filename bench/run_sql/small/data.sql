-- data.sql
--		The staging tables of a small store for counting: :users users, who have
--		written :posts posts of about 1 kB in turn, and nothing on them yet.
CREATE SCHEMA staging;
SET search_path = staging;

CREATE UNLOGGED TABLE users AS
SELECT n, user_id, 'author ' || n AS username, creation_date
FROM dataset.users(:users, :seed, '2023-01-01 00:00:00+00');

CREATE UNLOGGED TABLE posts AS
SELECT n, dataset.post_id(n) AS post_id, dataset.user_id(1 + n % :users) AS user_id, 'Post number ' || n AS title,
	dataset.content(n, :seed) AS content, timestamptz '2023-01-01 00:00:00+00' + n * interval '1 minute' AS creation_date,
	0::bigint AS comments, 0::bigint AS likes
FROM generate_series(1, :posts) AS n;

CREATE UNLOGGED TABLE comments (
	comment_id		uuid,
	post_id			uuid,
	user_id			uuid,
	content			text,
	creation_date	timestamptz
);
CREATE UNLOGGED TABLE likes (
	like_id			uuid,
	post_id			uuid,
	user_id			uuid,
	creation_date	timestamptz
);

-- which post is written to by whom, one write after another, as :user and :post are named
CREATE UNLOGGED TABLE targets (
	kind			text,
	n				bigint,
	post			bigint,
	"user"			bigint,
	PRIMARY KEY (kind, n)
);
