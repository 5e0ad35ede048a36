-- demo_data.sql
--		The data of the demonstration, and the procedures that load them.
--
-- This is the data set of dataset.sql with :users users. Posts, comments and
-- likes are from the 13 months before :today. Names and titles are more
-- readable than the benchmarks'.

\set ON_ERROR_STOP on

CREATE SCHEMA demo;

CREATE UNLOGGED TABLE demo.settings AS
SELECT :users::integer AS users, 1 AS seed, :'today'::timestamptz - 395 * interval '24 hours' AS since;

CREATE UNLOGGED TABLE demo.users AS
SELECT u.n, user_id, creation_date,
	(ARRAY['ada','barbara','carla','dennis','edgar','fran','grace','hedy','ivan','jean',
		'katherine','leslie','margaret','niklaus','ole','peter','radia','shafi','tony','vint']
	)[1 + dataset.pick(u.n, 2, 20)] || u.n AS username
FROM demo.settings AS s, dataset.users(s.users, s.seed, s.since) AS u;
ALTER TABLE demo.users ADD PRIMARY KEY (n);

CREATE UNLOGGED TABLE demo.posts AS
SELECT p.*,
	(ARRAY['Notes on','Against','In praise of','A year of','Questions about','The trouble with','Measuring','Letters on'])[1 + dataset.pick(p.n, 12, 8)]
		|| ' ' ||
	(ARRAY['counters','slow bread','short forms','mountain trains','partition keys','rainy weeks','queues','old gardens','change feeds','small museums'])[1 + dataset.pick(p.n, 13, 10)]
		AS title,
	dataset.content(p.n, s.seed) AS content
FROM demo.settings AS s, dataset.posts(s.users, s.seed, s.since) AS p;
ALTER TABLE demo.posts ADD PRIMARY KEY (n);
CREATE INDEX ON demo.posts ((n / 2000), (n % 8));

-- The progress of each loading session. A session updates its own row only.
CREATE UNLOGGED TABLE demo.progress (
	part integer PRIMARY KEY,
	users bigint NOT NULL DEFAULT 0,
	posts bigint NOT NULL DEFAULT 0,
	comments bigint NOT NULL DEFAULT 0,
	likes bigint NOT NULL DEFAULT 0
);

ANALYZE demo.users, demo.posts;

CREATE PROCEDURE demo.load_users(part integer, parts integer)
LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO demo.progress (part) VALUES (load_users.part);

	PERFORM count(blogstore.create_user(username, user_id, creation_date))
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
		SELECT count(blogstore.create_post(user_id, title, content, post_id, creation_date)) INTO loaded
		FROM demo.posts
		WHERE posts.n >= start AND posts.n < start + chunk AND posts.n % parts = load_posts.part;

		UPDATE demo.progress SET posts = posts + loaded WHERE progress.part = load_posts.part;
		COMMIT;
	END LOOP;
END $$;

-- Comments and likes arrive in rounds, as on a real site: in each round a post
-- gets at most one comment and two likes. Each transaction takes every eighth
-- post, so that the dead row versions of one transaction can be pruned before
-- another transaction updates rows of the same pages.
CREATE PROCEDURE demo.load_reactions(part integer, parts integer)
LANGUAGE plpgsql AS $$
DECLARE
	of_all CONSTANT demo.settings := (SELECT s FROM demo.settings AS s);
	round_comments bigint;
	round_likes bigint;
	loaded bigint;
BEGIN
	FOR period IN 0 .. (SELECT max(n / 2000) FROM demo.posts) LOOP
		FOR round IN 0 .. 49 LOOP
			round_comments := 0;
			round_likes := 0;
			FOR lane IN load_reactions.part .. 7 BY parts LOOP
				SELECT count(blogstore.create_comment(p.post_id, c.user_id, c.content, c.comment_id, c.creation_date))
				INTO loaded
				FROM demo.posts AS p,
					dataset.comments(p.n, p.creation_date, 1 + round / 2, 1 + round / 2, of_all.users, of_all.seed) AS c
				WHERE p.n / 2000 = period AND p.n % 8 = lane
					AND round % 2 = p.n % 2 AND round / 2 < p.comments;
				round_comments := round_comments + loaded;

				SELECT count(blogstore.create_like(p.post_id, l.user_id, l.creation_date))
				INTO loaded
				FROM demo.posts AS p,
					dataset.likes(p.n, p.creation_date, round * 2, least(round * 2 + 2, p.likes) - 1, of_all.users, of_all.seed) AS l
				WHERE p.n / 2000 = period AND p.n % 8 = lane AND round * 2 < p.likes;
				round_likes := round_likes + loaded;
				COMMIT;
			END LOOP;

			UPDATE demo.progress SET comments = comments + round_comments, likes = likes + round_likes
			WHERE progress.part = load_reactions.part;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;
