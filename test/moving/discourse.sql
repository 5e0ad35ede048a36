-- A small forum in Discourse's tables: the columns that docs/MOVING_IN.md reads.

CREATE SCHEMA discourse;
CREATE TABLE discourse.users (id int PRIMARY KEY, username varchar(60) NOT NULL, created_at timestamp NOT NULL);
CREATE TABLE discourse.topics (id int PRIMARY KEY, title varchar NOT NULL, user_id int, created_at timestamp NOT NULL,
	deleted_at timestamp, archetype varchar NOT NULL DEFAULT 'regular', visible boolean NOT NULL DEFAULT true, slug varchar);
CREATE TABLE discourse.posts (id int PRIMARY KEY, user_id int, topic_id int NOT NULL, post_number int NOT NULL, raw text NOT NULL,
	cooked text NOT NULL, created_at timestamp NOT NULL, reply_to_post_number int, deleted_at timestamp,
	hidden boolean NOT NULL DEFAULT false, post_type int NOT NULL DEFAULT 1);
CREATE TABLE discourse.post_actions (id int PRIMARY KEY, post_id int NOT NULL, user_id int NOT NULL,
	post_action_type_id int NOT NULL, deleted_at timestamp, created_at timestamp NOT NULL);
CREATE TABLE discourse.tags (id int PRIMARY KEY, name varchar NOT NULL);
CREATE TABLE discourse.topic_tags (id int PRIMARY KEY, topic_id int NOT NULL, tag_id int NOT NULL);

INSERT INTO discourse.users VALUES
	(-1, 'system', '2020-01-01'), (1, 'dora', '2020-01-02'), (2, 'emil', '2020-01-03');
INSERT INTO discourse.topics VALUES
	(7, 'Which cheese?', 1, '2020-02-01 10:00', NULL, 'regular', true, 'which-cheese'),
	(8, 'Unlisted', 2, '2020-02-02 10:00', NULL, 'regular', false, 'unlisted'),
	(9, 'Gone', 2, '2020-02-03 10:00', '2020-02-04', 'regular', true, 'gone'),
	(10, 'A message', 1, '2020-02-03 10:00', NULL, 'private_message', true, 'a-message');
INSERT INTO discourse.posts VALUES
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
	(100, 1, 10, 1, 'Psst.', '<p>Psst.</p>', '2020-02-03 10:00', NULL, NULL, false, 1);
INSERT INTO discourse.post_actions VALUES
	(1, 70, 2, 2, NULL, '2020-02-01 10:30'), (2, 70, -1, 2, '2020-02-05', '2020-02-01 10:40'),
	(3, 71, 1, 2, NULL, '2020-02-01 11:30'), (4, 70, -1, 8, NULL, '2020-02-01 10:50'), (5, 90, 1, 2, NULL, '2020-02-03 10:30');
INSERT INTO discourse.tags VALUES (1, 'milk'), (2, 'food');
INSERT INTO discourse.topic_tags VALUES (1, 7, 1), (2, 7, 2);
