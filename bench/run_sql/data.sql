-- data.sql
--		The data set of the article: :users users, each with 5 to 50 posts of
--		about 1 kB, each with 0 to 25 comments and 0 to 100 likes, all evenly
--		spread. Here are the users, and who has written which post when; slice.sql
--		fills the staging tables that contestants are loaded from.
--
-- Everything that looks random is a hash of a number and of :seed, so the same
-- seed gives the same data. Ids are made so that a pgbench script can name them
-- by their number: a prefix, and the number in decimal digits. Posts are
-- numbered by date, so ids grow with time as those of UUID version 7 do. User u
-- likes post p if u follows p * 7919 by less than the post's number of likes,
-- counted around; so who has not liked a post is known without looking. Where
-- there are hardly any users, half of them at most like a post.
--
-- Comments and likes lie together by post, as import() puts them, so that no
-- contestant has an advantage from it.
--
-- Besides, a tenth as many users (but 100 at least) who have written nothing: edit_user renames
-- them. Staging is not logged: it is made once, and only read.
CREATE SCHEMA staging;
SET search_path = staging;

CREATE FUNCTION pick(n bigint, salt integer, lim bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (hashint8extended(n, salt) & 9007199254740991) % lim;

CREATE FUNCTION user_id(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('0180000000007000' || (8000000000000000 + n))::uuid;

CREATE FUNCTION post_id(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('0190000000007000' || (8000000000000000 + n))::uuid;

CREATE FUNCTION child_id(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('01a0000000007000' || (8000000000000000 + n))::uuid;

-- lines lines of text, joined
CREATE FUNCTION prose(n bigint, salt integer, lines bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
	SELECT string_agg((ARRAY[
		'It began with a question that nobody had asked.',
		'The bus was late, so we walked along the river.',
		'Two cups of flour, a little salt, and time.',
		'What follows was measured on a rainy Sunday.',
		'My neighbour keeps bees and gives good advice.',
		'Most of it turned out to be habit.',
		'We turned back before the last bend of the road.',
		'The old version did it in one step, and wrongly.',
		'Nothing is as permanent as a quick repair.',
		'There were nine of us around a table for six.',
		'Read the label before you open the paint.',
		'I wrote it down the same evening.',
		'Half an hour later the sun came out again.',
		'The answer fits on a postcard.',
		'Somebody had left the light on all night.',
		'Small things first, and the roof last.'])[1 + pick(n * 64 + line, salt, 16)], ' ' ORDER BY line)
	FROM generate_series(1, lines) AS line);

CREATE UNLOGGED TABLE users AS
SELECT n, user_id(n), CASE WHEN n <= :users THEN 'author ' ELSE 'reader ' END || n AS username,
	timestamptz '2022-06-01 00:00:00+00' + pick(n, 100 * :seed + 1, 15552000000) * interval '1 millisecond' AS creation_date
FROM generate_series(1, :users + :idle_users) AS n;

CREATE UNLOGGED TABLE all_posts AS
SELECT n, post_id(n), user_id(user_n), user_n,
	creation_date,
	pick(n, 100 * :seed + 4, 26) AS comments,
	pick(n, 100 * :seed + 5, :most_likes + 1) AS likes
FROM (
	SELECT row_number() OVER (ORDER BY creation_date, user_n, k) AS n, user_n, creation_date
	FROM generate_series(1, :users) AS user_n,
		LATERAL generate_series(1, 5 + pick(user_n, 100 * :seed + 6, 46)) AS k,
		LATERAL (SELECT timestamptz '2023-01-01 00:00:00+00'
			+ pick(user_n * 64 + k, 100 * :seed + 7, 31536000000) * interval '1 millisecond' AS creation_date) AS d
) AS p;

ALTER TABLE users ADD PRIMARY KEY (user_id);
ALTER TABLE all_posts ADD PRIMARY KEY (n);
VACUUM ANALYZE users, all_posts;

-- of a slice
CREATE UNLOGGED TABLE posts (
	n				bigint,
	post_id			uuid PRIMARY KEY,
	user_id			uuid,
	user_n			bigint,
	title			text,
	content			text,
	creation_date	timestamptz,
	comments		bigint,
	likes			bigint
);
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
