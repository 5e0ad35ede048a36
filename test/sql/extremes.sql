--
-- EXTREMES: the first and last ids and dates, large texts, odd names
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(5, 130);

-- The first and the last uuid, the earliest and the latest date
\set zero '''00000000-0000-0000-0000-000000000000'''
\set ff '''ffffffff-ffff-ffff-ffff-ffffffffffff'''
\set earliest '''4713-01-01 00:00:00+00 BC'''
\set latest '''294276-12-31 23:59:59.999999+00'''
SELECT username, creation_date FROM blogstore.create_user('zero', :zero, :earliest);
SELECT username, creation_date FROM blogstore.create_user('ff', :ff, :latest);
SELECT title, creation_date FROM blogstore.create_post(:zero, 'earliest', 'x', :zero, :earliest);
SELECT title, creation_date FROM blogstore.create_post(:ff, 'latest', 'x', :ff, :latest);
SELECT content FROM blogstore.create_comment(:zero, :ff, 'earliest', '00000000-0000-0000-0000-000000000001', :earliest);
SELECT content FROM blogstore.create_comment(:zero, :zero, 'latest', :ff, :latest);
SELECT user_username FROM blogstore.create_like(:zero, :ff, :earliest);
SELECT user_username FROM blogstore.create_like(:zero, :zero, :latest);
SELECT i::jsonb ->> 'creationDate' AS earliest FROM blogstore.get_user(:zero) i;
SELECT i::jsonb ->> 'creationDate' AS latest FROM blogstore.get_user(:ff) i;
SELECT blogstore.wait_for_views();
SELECT title FROM blogstore.list_feed(2);
SELECT title FROM blogstore.list_feed(NULL) OFFSET 130;
SELECT title, comment_count, like_count FROM blogstore.list_user_posts(:zero);
SELECT content FROM blogstore.list_post_comments(:zero);
SELECT user_username FROM blogstore.list_post_likes(:zero);
-- cursors at either end
SELECT count(*) FROM blogstore.list_feed(NULL, :latest, :ff);
SELECT count(*) FROM blogstore.list_feed(NULL, :earliest, :zero);
SELECT count(*) FROM blogstore.list_feed(NULL, 'infinity', :ff);
SELECT count(*) FROM blogstore.list_feed(NULL, '-infinity', :zero);
SELECT content FROM blogstore.list_post_comments(:zero, NULL, :latest, :ff);
SELECT user_username FROM blogstore.list_post_likes(:zero, NULL, 'infinity', :ff);
SELECT kit.walk('blogstore.list_feed($1, $2, $3)', 7)
	= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM kit.implied) AS all_posts;
-- In the other order. If no row has the cursor's date and id, the page begins
-- with the whole millisecond of the date.
SELECT title FROM blogstore.list_feed(2, oldest_first => true);
SELECT title FROM blogstore.list_feed(2, :earliest, :zero, true);
SELECT title FROM blogstore.list_feed(2, :earliest, :ff, true);
SELECT title FROM blogstore.list_feed(2, '-infinity', :zero, true);
SELECT count(*) FROM blogstore.list_feed(NULL, :latest, :ff, true);
SELECT count(*) FROM blogstore.list_feed(NULL, 'infinity', :ff, true);
SELECT count(*) FROM blogstore.list_feed(NULL, date_trunc('milliseconds', timestamptz :latest), :ff, true);
SELECT content FROM blogstore.list_post_comments(:zero, NULL, :earliest, :ff, true);
SELECT content FROM blogstore.list_post_comments(:zero, NULL, :earliest, :zero, true);
SELECT user_username FROM blogstore.list_post_likes(:zero, NULL, '-infinity', :zero, true);
SELECT user_username FROM blogstore.list_post_likes(:zero, NULL, :earliest, :zero, true);
SELECT kit.walk('blogstore.list_feed($1, $2, $3, true)', 7)
	= (SELECT array_agg(id ORDER BY creation_date, id) FROM kit.implied) AS all_posts;

-- A title of a megabyte is copied whole, and stays so when only counts change
SELECT string_agg(md5(n::text), '' ORDER BY n) AS noise FROM generate_series(1, 30000) n \gset
UPDATE blogstore.posts SET title = :'noise' WHERE type = 'post' AND post_id = kit.p(130);
SELECT length(title) FROM blogstore.get_post(kit.p(130));
SELECT blogstore.wait_for_views();
SELECT title = :'noise' AS same, like_count FROM blogstore.list_feed(1, kit.d(131), kit.p(1));
SELECT count(*) FROM blogstore.create_like(kit.p(130), kit.u(2));
SELECT blogstore.wait_for_views();
SELECT title = :'noise' AS same, like_count FROM blogstore.list_feed(1, kit.d(131), kit.p(1));
SELECT title = :'noise' AS same, like_count FROM blogstore.list_user_posts(kit.u(1), 1);

-- Names that no user can have are looked for in vain, and nothing else
SELECT count(*) FROM blogstore.get_user_by_name(repeat('x', 1000000));
SELECT count(*) FROM blogstore.get_user_by_name(E'\x01');
SELECT count(*) FROM blogstore.get_user_by_name(' user 1');

SELECT * FROM kit.wrong_counts();
SELECT * FROM blogstore.verify();
