--
-- COMMENTS: C3, Q4, edit and deletion
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(3, 2);

-- C3: every property as given, by position and by name
SELECT * FROM blogstore.create_comment(kit.p(1), kit.u(1), 'one', kit.c(1), kit.d(1));
SELECT * FROM blogstore.create_comment(content => 'two', creation_date => kit.d(2), user_id => kit.u(2), comment_id => kit.c(2), post_id => kit.p(1));
-- made id and date; two comments without ids are two, though alike
SELECT type, id <> post_id AS own_id, substr(id::text, 15, 1) AS version, post_id, user_id, user_username, content,
	creation_date BETWEEN now() AND clock_timestamp() AS dated_now
FROM blogstore.create_comment(kit.p(2), kit.u(3), 'alike');
SELECT content FROM blogstore.create_comment(kit.p(2), kit.u(3), 'alike');
SELECT comment_count FROM blogstore.get_post(kit.p(2));

-- Q4: newest first
SELECT * FROM blogstore.list_post_comments(kit.p(1));
SELECT content FROM blogstore.list_post_comments(post_id => kit.p(1), page_size => 1);
SELECT count(*) FROM blogstore.list_post_comments(kit.p(2));
SELECT count(*) FROM blogstore.list_post_comments(kit.p(99));
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(1));

-- Long comments come back whole
SELECT string_agg(md5(n::text), '' ORDER BY n) AS noise FROM generate_series(1, 1000) n \gset
SELECT content = :'noise' AS same FROM blogstore.create_comment(kit.p(1), kit.u(1), :'noise', kit.c(3), kit.d(3));
SELECT content = :'noise' AS same FROM blogstore.list_post_comments(kit.p(1), 1);

-- edit: only the content changes
\set edited 'id, type, post_id, user_id, user_username, content, creation_date, parent_id, hidden, modification_date >= transaction_timestamp() - interval ''1 h'' AS edited, properties'
SELECT :edited FROM blogstore.edit_comment(kit.p(1), kit.c(1), 'one!');
SELECT :edited FROM blogstore.edit_comment(content => 'two!', comment_id => kit.c(2), post_id => kit.p(1));
SELECT :edited FROM blogstore.edit_comment(kit.p(1), kit.c(2), 'two!');
SELECT id, content FROM blogstore.list_post_comments(kit.p(1)) WHERE length(content) < 100;
SELECT comment_count FROM blogstore.get_post(kit.p(1));
-- of another post, it is not found
SELECT kit.try('blogstore.edit_comment(kit.p(2), kit.c(1), ''x'')');
SELECT blogstore.delete_comment(kit.p(2), kit.c(1));

-- deletion: was there one
SELECT blogstore.delete_comment(kit.p(1), kit.c(1));
SELECT blogstore.delete_comment(comment_id => kit.c(1), post_id => kit.p(1));
SELECT blogstore.delete_comment(kit.p(99), kit.c(1));
SELECT id FROM blogstore.list_post_comments(kit.p(1));
SELECT comment_count FROM blogstore.get_post(kit.p(1));
-- the id of a post or a like is no comment
SELECT blogstore.delete_comment(kit.p(1), kit.p(1));
SELECT kit.try('blogstore.edit_comment(kit.p(1), kit.p(1), ''x'')');
SELECT blogstore.delete_comment(kit.p(1), id) FROM blogstore.create_like(kit.p(1), kit.u(1));
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(1));
-- a deleted comment may be written again
SELECT * FROM blogstore.create_comment(kit.p(1), kit.u(2), 'again', kit.c(1), kit.d(7));
SELECT comment_count FROM blogstore.get_post(kit.p(1));

SELECT * FROM kit.wrong_counts();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
