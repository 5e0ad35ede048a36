-- A small site in the tables of WordPress, with what real sites have: dates of
-- zeros, names that differ only in case, guests, deleted authors, spam, and
-- replies to spam.

SET sql_mode = '';
SET NAMES utf8mb4;

INSERT INTO wp_users (ID, user_login, user_pass, user_nicename, user_email, user_url, user_registered, display_name) VALUES
	(1, 'admin', '$P$Bsecret', 'ann', 'ann@example.org', 'https://ann.example.org', '2018-01-02 03:04:05', 'Ann Öberg'),
	(2, 'bob', '$P$Bsecret', 'bob', 'bob@example.org', '', '2018-02-02 00:00:00', 'Bob'),
	(3, 'bobby', '$P$Bsecret', 'bob-2', 'bob2@example.org', '', '2018-03-02 00:00:00', 'bob'),
	(4, 'nameless', '$P$Bsecret', 'nameless', 'n@example.org', '', '2018-04-02 00:00:00', '  '),
	(5, 'nihon', '$P$Bsecret', '%e6%97%a5%e6%9c%ac', 'j@example.org', '', '0000-00-00 00:00:00', '日本 &amp; 😀');

INSERT INTO wp_posts (ID, post_author, post_date, post_date_gmt, post_modified_gmt, post_title, post_name, post_content, post_excerpt) VALUES
	(10, 1, '2024-05-06 12:00:00', '2024-05-06 10:00:00', '2024-05-07 08:00:00', 'Hello &amp; <em>welcome</em> 😀', 'hello',
	 '<!-- wp:paragraph -->\n<p class="lead">Line one\r\nit''s \\two\\, "three" &amp; four\ttabbed.</p>\n<!-- /wp:paragraph -->\n<p>日本 😀</p>', 'In short.'),
	(11, 2, '2019-07-01 14:00:00', '0000-00-00 00:00:00', '2019-07-01 12:00:00', 'Brought along from elsewhere', 'brought-along', 'No blocks.\n\nJust lines.', ''),
	(16, 3, '2024-01-16 00:00:00', '2024-01-15 23:00:00', '2024-01-15 23:00:00', 'Behind a password', 'behind', 'Secret.', ''),
	(23, 99, '2020-01-01 01:00:00', '2020-01-01 00:00:00', '2020-01-01 00:00:00', '', 'untitled', '', ''),
	(24, 5, '2021-02-03 05:05:06', '2021-02-03 04:05:06', '2021-02-03 04:05:06', '日本', '%e6%97%a5%e6%9c%ac-2', 'A single word.', '');
UPDATE wp_posts SET post_password = 'open' WHERE ID = 16;
INSERT INTO wp_posts (ID, post_author, post_date, post_date_gmt, post_modified_gmt, post_title, post_name, post_content, post_status) VALUES
	(12, 1, '2024-06-01 10:00:00', '0000-00-00 00:00:00', '2024-06-01 08:00:00', 'A draft', '', 'Not yet.', 'draft'),
	(13, 2, '2024-06-02 10:00:00', '0000-00-00 00:00:00', '2024-06-02 08:00:00', 'To be looked at', 'hello', 'By Ann.', 'pending'),
	(14, 1, '2024-06-03 10:00:00', '2024-06-03 08:00:00', '2024-06-03 08:00:00', 'For ourselves', 'for-ourselves', 'Private.', 'private'),
	(15, 1, '2044-01-01 01:00:00', '2044-01-01 00:00:00', '2024-06-04 08:00:00', 'In twenty years', 'later', 'Scheduled.', 'future'),
	(17, 1, '2024-06-05 10:00:00', '2024-06-05 08:00:00', '2024-06-05 08:00:00', 'Thrown away', 'thrown-away__trashed', 'Trash.', 'trash'),
	(18, 1, '2024-06-06 10:00:00', '0000-00-00 00:00:00', '2024-06-06 08:00:00', 'Auto Draft', '', '', 'auto-draft');
INSERT INTO wp_posts (ID, post_author, post_date, post_date_gmt, post_title, post_name, post_content, post_status, post_type, post_parent) VALUES
	(19, 1, '2024-05-06 12:00:00', '2024-05-06 10:00:00', 'Hello', '10-revision-v1', 'An older text.', 'inherit', 'revision', 10),
	(20, 1, '2024-05-06 12:00:00', '2024-05-06 10:00:00', 'picture', 'picture', '', 'inherit', 'attachment', 10),
	(21, 1, '2024-05-06 12:00:00', '2024-05-06 10:00:00', 'About us', 'about', 'A page.', 'publish', 'page', 0),
	(22, 1, '2024-05-06 12:00:00', '2024-05-06 10:00:00', '', '22', '', 'publish', 'nav_menu_item', 0);

INSERT INTO wp_comments (comment_ID, comment_post_ID, comment_parent, user_id, comment_author, comment_author_email, comment_author_url, comment_author_IP, comment_date, comment_date_gmt, comment_content, comment_approved, comment_type) VALUES
	(100, 10, 0, 0, 'Tom &amp; Jerry', 'tom@example.org', 'https://tom.example.org', '192.0.2.1', '2024-05-06 13:00:00', '2024-05-06 11:00:00', 'First!\r\n\r\n😀 <b>bold</b>', '1', 'comment'),
	(101, 10, 100, 1, 'Ann Öberg', 'ann@example.org', '', '192.0.2.2', '2024-05-06 14:00:00', '2024-05-06 12:00:00', 'Thanks.', '1', 'comment'),
	(102, 10, 101, 0, 'Zoë', 'zoe@example.org', '', '192.0.2.3', '2024-05-06 15:00:00', '2024-05-06 13:00:00', 'May I?', '0', 'comment'),
	(103, 10, 0, 0, 'Cheap', 'cheap@example.org', 'https://cheap.example.org', '192.0.2.4', '2024-05-06 15:10:00', '2024-05-06 13:10:00', 'Buy!', 'spam', 'comment'),
	(104, 10, 0, 0, 'Rude', 'rude@example.org', '', '192.0.2.5', '2024-05-06 15:20:00', '2024-05-06 13:20:00', 'Bah.', 'trash', 'comment'),
	(105, 10, 103, 2, 'Bob', 'bob@example.org', '', '192.0.2.6', '2024-05-06 15:30:00', '2024-05-06 13:30:00', 'I bought it.', '1', 'comment'),
	(106, 10, 0, 0, 'Another site', '', 'https://other.example.org', '192.0.2.7', '2024-05-06 15:40:00', '2024-05-06 13:40:00', '[...] Hello [...]', '1', 'pingback'),
	(107, 10, 0, 3, 'bob', 'bob2@example.org', '', '192.0.2.8', '2024-05-06 15:50:00', '2024-05-06 13:50:00', 'Of an old version.', '1', ''),
	(108, 21, 0, 2, 'Bob', 'bob@example.org', '', '192.0.2.6', '2024-05-06 16:00:00', '2024-05-06 14:00:00', 'On a page.', '1', 'comment'),
	(109, 11, 0, 99, 'Gone', 'gone@example.org', '', '192.0.2.9', '2019-07-02 14:00:00', '2019-07-02 12:00:00', 'I was here.', '1', 'comment'),
	(110, 11, 101, 2, 'Bob', 'bob@example.org', '', '192.0.2.6', '2019-07-03 14:00:00', '0000-00-00 00:00:00', 'In reply to another post.', '1', 'comment'),
	(111, 14, 0, 1, 'Ann Öberg', 'ann@example.org', '', '192.0.2.2', '2024-06-03 10:30:00', '2024-06-03 08:30:00', 'Only for us.', '1', 'comment'),
	(112, 24, 0, 0, '', '', '', '192.0.2.10', '2021-02-04 05:00:00', '2021-02-04 04:00:00', 'Nobody.', '1', 'comment');

INSERT INTO wp_terms (term_id, name, slug) VALUES
	(1, 'Uncategorized', 'uncategorized'), (2, 'Letters &amp; more', 'letters-more'), (3, 'first', 'first'), (4, 'Käse 🧀', 'kase'), (5, 'Main menu', 'main-menu');
INSERT INTO wp_term_taxonomy (term_taxonomy_id, term_id, taxonomy) VALUES
	(1, 1, 'category'), (2, 2, 'category'), (3, 3, 'post_tag'), (4, 4, 'post_tag'), (5, 5, 'nav_menu');
INSERT INTO wp_term_relationships (object_id, term_taxonomy_id) VALUES
	(10, 2), (10, 3), (10, 4), (11, 1), (22, 5), (21, 4);
INSERT INTO wp_postmeta (meta_id, post_id, meta_key, meta_value) VALUES
	(1, 10, '_edit_last', '1'), (2, 11, '_wp_old_slug', 'brought'), (3, 21, '_wp_old_slug', 'about-me'), (4, 20, '_wp_attached_file', '2024/05/picture.png');
