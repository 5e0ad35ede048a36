-- A small forum in the tables of Discourse: the columns that docs/MOVING_IN.md
-- reads, and some that it has to ignore.

CREATE TABLE users (id int PRIMARY KEY, username varchar(60) NOT NULL, created_at timestamp NOT NULL, password_hash varchar DEFAULT 'secret');
CREATE TABLE categories (id int PRIMARY KEY, name varchar NOT NULL, read_restricted boolean NOT NULL DEFAULT false);
CREATE TABLE topics (id int PRIMARY KEY, title varchar NOT NULL, user_id int, created_at timestamp NOT NULL,
	deleted_at timestamp, archetype varchar NOT NULL DEFAULT 'regular', visible boolean NOT NULL DEFAULT true, slug varchar,
	category_id int);
CREATE TABLE posts (id int PRIMARY KEY, user_id int, topic_id int NOT NULL, post_number int NOT NULL, raw text NOT NULL,
	cooked text NOT NULL, created_at timestamp NOT NULL, reply_to_post_number int, deleted_at timestamp,
	hidden boolean NOT NULL DEFAULT false, post_type int NOT NULL DEFAULT 1);
CREATE TABLE post_actions (id int PRIMARY KEY, post_id int NOT NULL, user_id int NOT NULL,
	post_action_type_id int NOT NULL, deleted_at timestamp, created_at timestamp NOT NULL);
CREATE TABLE tags (id int PRIMARY KEY, name varchar NOT NULL);
CREATE TABLE topic_tags (id int PRIMARY KEY, topic_id int NOT NULL, tag_id int NOT NULL);

INSERT INTO users VALUES
	(-1, 'system', '2020-01-01'), (1, 'dora', '2020-01-02'), (2, 'emil', '2020-01-03');
INSERT INTO categories VALUES (1, 'Kitchen', false), (2, 'Staff', true);
INSERT INTO topics VALUES
	(7, 'Which cheese?', 1, '2020-02-01 10:00', NULL, 'regular', true, 'which-cheese', 1),
	(8, 'Unlisted', 2, '2020-02-02 10:00', NULL, 'regular', false, 'unlisted', 1),
	(9, 'Gone', 2, '2020-02-03 10:00', '2020-02-04', 'regular', true, 'gone', 1),
	(10, 'A message', 1, '2020-02-03 10:00', NULL, 'private_message', true, 'a-message', NULL),
	(11, 'Among staff', 1, '2020-02-05 10:00', NULL, 'regular', true, 'among-staff', 2),
	(12, 'Of a category that is gone', 1, '2020-02-05 11:00', NULL, 'regular', true, 'of-no-category', 3),
	(13, 'Flagged at once', 2, '2020-02-05 12:00', NULL, 'regular', true, 'flagged', 1),
	(14, 'Taken back', 2, '2020-02-05 13:00', NULL, 'regular', true, 'taken-back', 1),
	(15, 'Without beginning', 2, '2020-02-05 14:00', NULL, 'regular', true, 'without-beginning', 1),
	(16, 'Read this', 99, '2020-02-05 15:00', NULL, 'banner', true, 'read-this', 1);
INSERT INTO posts VALUES
	(70, 1, 7, 1, 'Which?', '<p>Which?</p>', '2020-02-01 10:00', NULL, NULL, false, 1),
	(71, 2, 7, 2, 'Gouda.', '<p>Gouda.</p>', '2020-02-01 11:00', NULL, NULL, false, 1),
	(72, 1, 7, 3, 'Why?', '<p>Why?</p>', '2020-02-01 12:00', 2, NULL, false, 1),
	(73, 2, 7, 4, 'Flagged.', '<p>Flagged.</p>', '2020-02-01 13:00', 1, NULL, true, 1),
	(74, 2, 7, 5, 'Deleted.', '<p>Deleted.</p>', '2020-02-01 14:00', 3, '2020-02-02', false, 1),
	(75, 1, 7, 6, 'Pinned', '', '2020-02-01 15:00', NULL, NULL, false, 3),
	(76, NULL, 7, 7, 'Nobody.', '<p>Nobody.</p>', '2020-02-01 16:00', 5, NULL, false, 1),
	(80, 2, 8, 1, 'Hm.', '<p>Hm.</p>', '2020-02-02 10:00', NULL, NULL, false, 1),
	(90, 2, 9, 1, 'No.', '<p>No.</p>', '2020-02-03 10:00', NULL, NULL, false, 1),
	(91, 1, 9, 2, 'Yes.', '<p>Yes.</p>', '2020-02-03 11:00', NULL, NULL, false, 1),
	(100, 1, 10, 1, 'Psst.', '<p>Psst.</p>', '2020-02-03 10:00', NULL, NULL, false, 1),
	(110, 1, 11, 1, 'Keys.', '<p>Keys.</p>', '2020-02-05 10:00', NULL, NULL, false, 1),
	(111, 1, 11, 2, 'More keys.', '<p>More keys.</p>', '2020-02-05 10:10', NULL, NULL, false, 1),
	(120, 1, 12, 1, 'Hm.', '<p>Hm.</p>', '2020-02-05 11:00', NULL, NULL, false, 1),
	(130, 2, 13, 1, 'Spam.', '<p>Spam.</p>', '2020-02-05 12:00', NULL, NULL, true, 1),
	(131, 1, 13, 2, 'Looked at.', '<p>Looked at.</p>', '2020-02-05 12:10', NULL, NULL, false, 2),
	(132, -1, 13, 3, 'Between us.', '<p>Between us.</p>', '2020-02-05 12:20', NULL, NULL, false, 4),
	(140, 2, 14, 1, 'No more.', '<p>No more.</p>', '2020-02-05 13:00', NULL, '2020-02-06', false, 1),
	(151, 1, 15, 2, 'What was it?', '<p>What was it?</p>', '2020-02-05 14:10', NULL, NULL, false, 1),
	(160, 99, 16, 1, 'Rules.', '<p>Rules.</p>', '2020-02-05 15:00', NULL, NULL, false, 1);
INSERT INTO post_actions VALUES
	(1, 70, 2, 2, NULL, '2020-02-01 10:30'), (2, 70, -1, 2, '2020-02-05', '2020-02-01 10:40'),
	(3, 71, 1, 2, NULL, '2020-02-01 11:30'), (4, 70, -1, 8, NULL, '2020-02-01 10:50'), (5, 90, 1, 2, NULL, '2020-02-03 10:30'),
	(6, 72, 2, 2, NULL, '2020-02-01 12:30'), (7, 72, -1, 2, NULL, '2020-02-01 12:40'), (8, 73, 1, 2, NULL, '2020-02-01 13:30'),
	(9, 74, 1, 2, NULL, '2020-02-01 14:30'), (10, 72, 1, 2, '2020-02-02', '2020-02-01 12:50'), (11, 91, 2, 2, NULL, '2020-02-03 11:30'),
	(12, 132, 1, 2, NULL, '2020-02-05 12:30');
INSERT INTO tags VALUES (1, 'milk'), (2, 'food');
INSERT INTO topic_tags VALUES (1, 7, 1), (2, 7, 2);
