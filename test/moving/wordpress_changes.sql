-- What happens on that site until the day of the switch.

SET sql_mode = '';
SET NAMES utf8mb4;

-- Bob gets another name, so that the other user can have his; a new user comes
UPDATE wp_users SET display_name = 'Robert' WHERE ID = 2;
INSERT INTO wp_users (ID, user_login, user_pass, user_nicename, user_email, user_registered, display_name) VALUES
	(6, 'eve', '$P$Bsecret', 'eve', 'eve@example.org', '2024-07-01 00:00:00', 'Eve');

-- edited, with another slug and another tag
UPDATE wp_posts SET post_title = 'Hello again', post_content = '<p>Hello again.</p>', post_name = 'hello-again', post_modified_gmt = '2024-07-02 08:00:00' WHERE ID = 10;
INSERT INTO wp_postmeta (meta_id, post_id, meta_key, meta_value) VALUES (5, 10, '_wp_old_slug', 'hello');
DELETE FROM wp_term_relationships WHERE object_id = 10 AND term_taxonomy_id = 3;
-- thrown away
UPDATE wp_posts SET post_status = 'trash', post_name = 'brought-along__trashed' WHERE ID = 11;
-- published: a draft, and a private one
UPDATE wp_posts SET post_status = 'publish', post_name = 'a-draft', post_date = '2024-07-03 10:00:00', post_date_gmt = '2024-07-03 08:00:00', post_modified_gmt = '2024-07-03 08:00:00' WHERE ID = 12;
UPDATE wp_posts SET post_status = 'publish' WHERE ID = 14;
-- put off
UPDATE wp_posts SET post_date = '2054-01-01 01:00:00', post_date_gmt = '2054-01-01 00:00:00' WHERE ID = 15;
-- its password is gone, and another post is a draft again
UPDATE wp_posts SET post_password = '' WHERE ID = 16;
UPDATE wp_posts SET post_status = 'draft' WHERE ID = 24;
-- new
INSERT INTO wp_posts (ID, post_author, post_date, post_date_gmt, post_modified_gmt, post_title, post_name, post_content) VALUES
	(30, 6, '2024-07-04 10:00:00', '2024-07-04 08:00:00', '2024-07-04 08:00:00', 'New', 'new', 'By Eve.');

-- approved, marked as spam, edited, new
UPDATE wp_comments SET comment_approved = '1' WHERE comment_ID = 102;
UPDATE wp_comments SET comment_approved = 'spam' WHERE comment_ID = 100;
UPDATE wp_comments SET comment_content = 'Of an old version; mended.' WHERE comment_ID = 107;
INSERT INTO wp_comments (comment_ID, comment_post_ID, comment_parent, user_id, comment_author, comment_date, comment_date_gmt, comment_content) VALUES
	(120, 30, 0, 1, 'Ann Öberg', '2024-07-04 11:00:00', '2024-07-04 09:00:00', 'Welcome, Eve.'),
	(121, 30, 120, 6, 'Eve', '2024-07-04 12:00:00', '2024-07-04 10:00:00', 'Thank you.');
