-- demo_data.sql
--		What the demonstration loads, and the procedures that load it.
--
-- The data set of the article, at the scale psql gives as :users (1,000 users
-- are 1 % of it): 5 to 50 posts a user, up to 25 comments and up to 100 likes
-- a post, spread over the year before :today. Everything random comes from
-- hashes, so the same day gives the same data.

\set ON_ERROR_STOP on

CREATE SCHEMA demo;

-- A number from 0 to lim - 1 that belongs to n and salt.
CREATE FUNCTION demo.pick(n bigint, salt integer, lim integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((hashint8extended(n, salt) & 2147483647) % lim)::integer;

-- A number from 0 up to, not including, 1.
CREATE FUNCTION demo.fraction(n bigint, salt integer)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (hashint8extended(n, salt) & 2147483647) / 2147483648.0::double precision;

-- A UUID of version 7 of the given time, as an import would bring it along.
CREATE FUNCTION demo.id(n bigint, salt integer, at timestamptz)
RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
RETURN (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
	|| '7' || substr(md5(salt || ':' || n), 1, 3)
	|| 'a' || substr(md5(salt || ':' || n), 4, 15))::uuid;

-- The time of something that happened to a post within a month of it.
CREATE FUNCTION demo.later(post_date timestamptz, n bigint, salt integer, today timestamptz)
RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
RETURN post_date + least(today - post_date, '30 days') * demo.fraction(n, salt);

CREATE UNLOGGED TABLE demo.settings AS
SELECT :users::integer AS users, :'today'::timestamptz AS today;

CREATE UNLOGGED TABLE demo.sentences AS
SELECT row_number() OVER () - 1 AS n, s AS sentence
FROM regexp_split_to_table(
'I measured it twice before I believed it.
The first version was slow, and it was nobody''s fault.
Reads outnumber writes here, by a lot.
Every page of the site asks the same ten questions.
We kept one copy where it is read, and let the log keep it right.
A count that is wrong by one is wrong.
What is stored together is read together.
The hard part was not the code, it was the order of things.
Nobody noticed the change, which was the point.
It rained all week, so there was time to write this down.
The bread needs a day, the soup an hour, the tea four minutes.
From the ridge you see both valleys and the sea behind them.
Take the early train and sit on the left.
An index is a promise to every later insert.
There is a bench under the old chestnut, and it is usually free.
We asked the same question at three scales and got the same answer.
Somebody always renames himself on the busiest day.
The small museum behind the station is worth an afternoon.
I have been wrong about this before.
Measure, change one thing, measure again.
Half of the work was throwing things away.
The pictures are on the next page.
If you remember one thing, remember the key.
It was cheaper to write it twice than to read it a hundred times.', '\n') AS s;

CREATE UNLOGGED TABLE demo.remarks AS
SELECT row_number() OVER () - 1 AS n, s AS remark
FROM regexp_split_to_table(
'Well said.
I would not have thought so, but the figures are clear.
Thank you, this saved me an evening.
Have you tried it with more than one writer?
Same here.
The second picture is wonderful.
We did the same last year and never looked back.
Could you share the numbers?
I disagree about the third point, and agree with all the others.
Bookmarked.
And what happens after a crash?
This is the clearest explanation that I have read so far.', '\n') AS s;

CREATE UNLOGGED TABLE demo.users AS
SELECT n,
	demo.id(n, 1, created) AS user_id,
	(ARRAY['ada','barbara','carla','dennis','edgar','fran','grace','hedy','ivan','jean',
		'katherine','leslie','margaret','niklaus','ole','peter','radia','shafi','tony','vint']
	)[1 + demo.pick(n, 2, 20)] || n AS username,
	created
FROM demo.settings,
	generate_series(1, settings.users) AS n,
	LATERAL (SELECT today - interval '366 days' - interval '300 days' * demo.fraction(n, 3) AS created) AS c;
ALTER TABLE demo.users ADD PRIMARY KEY (n);

-- numbered by date, so that they arrive as they were written
CREATE UNLOGGED TABLE demo.posts AS
SELECT row_number() OVER (ORDER BY created, m) AS n,
	demo.id(m, 11, created) AS post_id,
	user_n,
	(ARRAY['Notes on','Against','In praise of','A year of','Questions about','The trouble with','Measuring','Letters on'])[1 + demo.pick(m, 12, 8)]
		|| ' ' ||
	(ARRAY['counters','slow bread','short forms','mountain trains','partition keys','rainy weeks','queues','old gardens','change feeds','small museums'])[1 + demo.pick(m, 13, 10)]
		AS title,
	(SELECT string_agg(sentence, ' ' ORDER BY s)
	 FROM generate_series(1, 4 + demo.pick(m, 14, 24)) AS s
	 JOIN demo.sentences ON sentences.n = demo.pick(m * 64 + s, 15, 24)) AS content,
	created,
	demo.pick(m, 16, 26) AS comments,
	least(demo.pick(m, 17, 101), settings.users) AS likes,
	-- likers: a walk through the users in strides of a large prime
	demo.pick(m, 18, settings.users) AS like_start,
	(ARRAY[100003, 100019, 100043, 100049, 100057, 100069, 100103, 100109])[1 + demo.pick(m, 19, 8)]
		% settings.users AS like_stride
FROM demo.settings,
	LATERAL (
		SELECT users.n AS user_n, users.n * 64 + k AS m
		FROM demo.users, generate_series(1, 5 + demo.pick(users.n, 34, 46)) AS k
	) AS p,
	LATERAL (SELECT today - interval '365 days' * demo.fraction(m, 20) AS created) AS c;
ALTER TABLE demo.posts ADD PRIMARY KEY (n);
CREATE INDEX ON demo.posts ((n / 2000), (n % 8));

-- How far each loading session is; each touches its own row.
CREATE UNLOGGED TABLE demo.progress (
	part integer PRIMARY KEY,
	users bigint NOT NULL DEFAULT 0,
	posts bigint NOT NULL DEFAULT 0,
	comments bigint NOT NULL DEFAULT 0,
	likes bigint NOT NULL DEFAULT 0
);

ANALYZE demo.users, demo.posts, demo.sentences, demo.remarks;

CREATE PROCEDURE demo.load_users(part integer, parts integer)
LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO demo.progress (part) VALUES (load_users.part);

	PERFORM count(blogstore.create_user(username, user_id, created))
	FROM demo.users WHERE n % parts = load_users.part;

	UPDATE demo.progress SET users = (SELECT count(*) FROM demo.users WHERE n % parts = load_users.part)
	WHERE progress.part = load_users.part;
	COMMIT;
END $$;

CREATE PROCEDURE demo.load_posts(part integer, parts integer)
LANGUAGE plpgsql AS $$
DECLARE
	chunk CONSTANT integer := 2000;
	loaded bigint;
BEGIN
	FOR start IN 1 .. (SELECT max(n) FROM demo.posts) BY chunk LOOP
		SELECT count(blogstore.create_post(user_id, title, content, post_id, posts.created)) INTO loaded
		FROM demo.posts JOIN demo.users ON users.n = posts.user_n
		WHERE posts.n >= start AND posts.n < start + chunk AND posts.n % parts = load_posts.part;

		UPDATE demo.progress SET posts = posts + loaded WHERE progress.part = load_posts.part;
		COMMIT;
	END LOOP;
END $$;

-- Comments and likes arrive in rounds, as they do in life: a post gets two
-- likes at most, then all other posts of its time get theirs, and so on. Each
-- transaction takes posts that lie apart, so that the next one finds the room
-- that the last one's row versions took free again.
CREATE PROCEDURE demo.load_reactions(part integer, parts integer)
LANGUAGE plpgsql AS $$
DECLARE
	now_today CONSTANT timestamptz := (SELECT today FROM demo.settings);
	all_users CONSTANT integer := (SELECT users FROM demo.settings);
	round_comments bigint;
	round_likes bigint;
	loaded bigint;
BEGIN
	FOR period IN 0 .. (SELECT max(n / 2000) FROM demo.posts) LOOP
		FOR round IN 0 .. 49 LOOP
			round_comments := 0;
			round_likes := 0;
			FOR lane IN load_reactions.part .. 7 BY parts LOOP
				SELECT count(blogstore.create_comment(post_id, user_id, remark, demo.id(m, 21, date), date))
				INTO loaded
				FROM demo.posts AS p,
					LATERAL (SELECT p.n * 64 + round AS m) AS a,
					LATERAL (SELECT demo.later(p.created, m, 22, now_today) AS date) AS b,
					demo.users, demo.remarks
				WHERE p.n / 2000 = period AND p.n % 8 = lane
					AND round % 2 = p.n % 2 AND round / 2 < p.comments
					AND users.n = 1 + demo.pick(m, 23, all_users)
					AND remarks.n = demo.pick(m, 24, 12);
				round_comments := round_comments + loaded;

				SELECT count(blogstore.create_like(post_id, user_id,
							demo.later(p.created, p.n * 128 + i, 25, now_today)))
				INTO loaded
				FROM generate_series(round * 2, round * 2 + 1) AS i,
					demo.posts AS p, demo.users
				WHERE p.n / 2000 = period AND p.n % 8 = lane
					AND i < p.likes
					AND users.n = 1 + (p.like_start + i * p.like_stride) % all_users;
				round_likes := round_likes + loaded;
				COMMIT;
			END LOOP;

			UPDATE demo.progress SET comments = comments + round_comments, likes = likes + round_likes
			WHERE progress.part = load_reactions.part;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;
