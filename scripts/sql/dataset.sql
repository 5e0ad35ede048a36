-- dataset.sql
--		Functions that generate the data of the demonstration and of the
--		benchmarks from a number of users, a seed and a date. The caller
--		inserts the rows into tables of its own.
--
-- This is the article's data set. Each user has 5 to 50 posts of about 1 kB.
-- Each post has 0 to 25 comments and 0 to 100 likes. All numbers are uniformly
-- distributed. The full size is 100,000 users.
--
-- Pseudo-random values are hashes of a number and the seed, so the same
-- arguments give the same data. The file is plain SQL without psql's commands,
-- so any client can run it.
CREATE SCHEMA dataset;

-- Return a number from 0 to lim - 1, a hash of n and salt.
CREATE FUNCTION dataset.pick(n bigint, salt integer, lim bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (hashint8extended(n, salt) & 9007199254740991) % lim;

-- An id is a prefix followed by a number in decimal digits, so that a pgbench
-- script can make ids from numbers.
CREATE FUNCTION dataset.user_id(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('0180000000007000' || (8000000000000000 + n))::uuid;

CREATE FUNCTION dataset.post_id(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('0190000000007000' || (8000000000000000 + n))::uuid;

CREATE FUNCTION dataset.child_id(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('01a0000000007000' || (8000000000000000 + n))::uuid;

-- Return a text of as many sentences as the argument "lines" says.
CREATE FUNCTION dataset.prose(n bigint, salt integer, lines bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
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
		'Small things first, and the roof last.'])[1 + dataset.pick(n * 64 + line, salt, 16)], ' ' ORDER BY line)
	FROM generate_series(1, lines) AS line);

-- User u likes post p if (u - p * 7919) modulo the number of users is less
-- than the post's number of likes. So callers can compute a user that has not
-- liked a post. With few users, at most half of them like a post.
CREATE FUNCTION dataset.most_likes(users bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(100, users / 2);

-- Return users number 1 to "last". They join in the seven months before
-- "since".
CREATE FUNCTION dataset.users(last bigint, seed integer, since timestamptz)
RETURNS TABLE (n bigint, user_id uuid, creation_date timestamptz) LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT u.n, dataset.user_id(u.n),
		since - 214 * interval '24 hours' + dataset.pick(u.n, 100 * seed + 1, 15552000000) * interval '1 millisecond'
	FROM generate_series(1, last) AS u (n);
END;

-- Return the posts of the users: id, author, date, and the numbers of comments
-- and likes. The dates lie in the year from "since" on. Posts are numbered by
-- date, so ids grow with time as those of UUID version 7 do.
CREATE FUNCTION dataset.posts(users bigint, seed integer, since timestamptz)
RETURNS TABLE (n bigint, post_id uuid, user_id uuid, user_n bigint, creation_date timestamptz, comments bigint, likes bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT p.n, dataset.post_id(p.n), dataset.user_id(p.user_n), p.user_n, p.creation_date,
		dataset.pick(p.n, 100 * seed + 4, 26), dataset.pick(p.n, 100 * seed + 5, dataset.most_likes(users) + 1)
	FROM (
		SELECT row_number() OVER (ORDER BY d.creation_date, u.n, k) AS n, u.n AS user_n, d.creation_date
		FROM generate_series(1, users) AS u (n),
			LATERAL generate_series(1, 5 + dataset.pick(u.n, 100 * seed + 6, 46)) AS k,
			LATERAL (SELECT since + dataset.pick(u.n * 64 + k, 100 * seed + 7, 31536000000) * interval '1 millisecond'
				AS creation_date) AS d
	) AS p;
END;

-- Return the content of post number n.
CREATE FUNCTION dataset.content(n bigint, seed integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN dataset.prose(n, 100 * seed + 2, 20 + dataset.pick(n, 100 * seed + 3, 7));

-- Return a post's comments number "first" to "last", counted from 1. Any of
-- the users writes them, within a month of the post. k microseconds are added
-- to make the dates distinct.
CREATE FUNCTION dataset.comments(post bigint, post_date timestamptz, first bigint, last bigint, users bigint, seed integer)
RETURNS TABLE (comment_id uuid, user_id uuid, content text, creation_date timestamptz) LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT dataset.child_id(post * 32 + k), dataset.user_id(1 + dataset.pick(post * 32 + k, 100 * seed + 8, users)),
		dataset.prose(post * 32 + k, 100 * seed + 9, 1 + dataset.pick(post * 32 + k, 100 * seed + 10, 4)),
		post_date + dataset.pick(post * 32 + k, 100 * seed + 11, 2592000000) * interval '1 millisecond'
			+ k * interval '1 microsecond'
	FROM generate_series(first, last) AS k;
END;

-- Return a post's likes number "first" to "last", counted from 0, within a
-- month of the post.
CREATE FUNCTION dataset.likes(post bigint, post_date timestamptz, first bigint, last bigint, users bigint, seed integer)
RETURNS TABLE (like_id uuid, user_id uuid, creation_date timestamptz) LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT dataset.child_id(post * 128 + k), dataset.user_id(1 + (post * 7919 + k) % users),
		post_date + dataset.pick(post * 128 + k, 100 * seed + 12, 2592000000) * interval '1 millisecond'
			+ k * interval '1 microsecond'
	FROM generate_series(first, last) AS k;
END;
