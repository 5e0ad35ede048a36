--
-- LIKES: C4, Q5, get_like and deletion
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(3, 2);

-- C4: every property as given (the id is made), by position and by name
SELECT id IS NOT NULL AS id, type, post_id, user_id, user_username, creation_date
FROM blogstore.create_like(kit.p(1), kit.u(1), kit.d(1));
SELECT id NOT IN (post_id, user_id) AS id, type, post_id, user_id, user_username, creation_date
FROM blogstore.create_like(creation_date => kit.d(2), user_id => kit.u(2), post_id => kit.p(1));
SELECT creation_date BETWEEN now() AND clock_timestamp() AS dated_now FROM blogstore.create_like(kit.p(2), kit.u(1));
-- the author's own like counts too, and one like per user and post
SELECT like_count FROM blogstore.get_post(kit.p(1));
SELECT a.id = b.id AS same_item, b.creation_date
FROM blogstore.get_like(kit.p(1), kit.u(1)) a, blogstore.create_like(kit.p(1), kit.u(1)) b;
SELECT creation_date FROM blogstore.create_like(kit.p(1), kit.u(1), kit.d(5));
SELECT like_count FROM blogstore.get_post(kit.p(1));

-- Q5: newest first
SELECT type, post_id, user_id, user_username, creation_date FROM blogstore.list_post_likes(kit.p(1));
SELECT user_id FROM blogstore.list_post_likes(post_id => kit.p(1), page_size => 1);
SELECT count(*) FROM blogstore.list_post_likes(kit.p(99));
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(1));

-- get_like: has this user liked it?
SELECT type, post_id, user_id, user_username, creation_date FROM blogstore.get_like(kit.p(1), kit.u(2));
SELECT count(*) FROM blogstore.get_like(user_id => kit.u(2), post_id => kit.p(2));
SELECT count(*) FROM blogstore.get_like(kit.p(99), kit.u(2));
SELECT count(*) FROM blogstore.get_like(kit.p(1), kit.u(99));
-- the item is the one the list shows
SELECT kit.compare('SELECT * FROM blogstore.get_like(kit.p(1), kit.u(2))',
	'SELECT * FROM blogstore.list_post_likes(kit.p(1)) WHERE user_id = kit.u(2)');

-- deletion: was there one
SELECT blogstore.delete_like(kit.p(1), kit.u(1));
SELECT like_count FROM blogstore.get_post(kit.p(1));
SELECT blogstore.delete_like(user_id => kit.u(1), post_id => kit.p(1));
SELECT blogstore.delete_like(kit.p(1), kit.u(3));
SELECT blogstore.delete_like(kit.p(99), kit.u(1));
SELECT blogstore.delete_like(kit.p(1), kit.u(99));
SELECT count(*) FROM blogstore.get_like(kit.p(1), kit.u(1));
SELECT user_id FROM blogstore.list_post_likes(kit.p(1));
SELECT like_count FROM blogstore.get_post(kit.p(1));
-- and liked again
SELECT creation_date FROM blogstore.create_like(kit.p(1), kit.u(1), kit.d(6));
SELECT user_id FROM blogstore.list_post_likes(kit.p(1));
SELECT like_count FROM blogstore.get_post(kit.p(1));

SELECT * FROM kit.wrong_counts();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
