-- Tables of a site's own, with ids of both kinds.

CREATE SCHEMA old;
CREATE TABLE old.account (id uuid PRIMARY KEY, name text, joined timestamptz, password_hash text);
CREATE TABLE old.article (id uuid PRIMARY KEY, author uuid, headline text, body text, published timestamptz, slug text, topics text[]);
CREATE TABLE old.remark (id bigint PRIMARY KEY, article uuid, author uuid, body text, written timestamptz, answers bigint);
CREATE TABLE old.star (article uuid, remark bigint, account uuid, since timestamptz);
CREATE TABLE old.subscription (reader uuid, writer uuid, since timestamptz);

INSERT INTO old.account VALUES
	('a0000000-0000-4000-8000-000000000001', 'Olga', '2015-01-01 00:00Z', 'secret'),
	('a0000000-0000-4000-8000-000000000002', 'Paul', '2015-01-02 00:00Z', 'secret');
INSERT INTO old.article VALUES
	('b0000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000001', 'One', 'First.', '2016-01-01 00:00Z', 'one', '{a,b}'),
	('b0000000-0000-4000-8000-000000000002', 'a0000000-0000-4000-8000-000000000001', 'Two', 'A draft.', NULL, NULL, NULL);
INSERT INTO old.remark VALUES
	(1, 'b0000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000002', 'Good.', '2016-01-02 00:00Z', NULL),
	(2, 'b0000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000001', 'Thanks.', '2016-01-03 00:00Z', 1);
INSERT INTO old.star VALUES
	('b0000000-0000-4000-8000-000000000001', NULL, 'a0000000-0000-4000-8000-000000000002', '2016-01-02 00:00Z'),
	('b0000000-0000-4000-8000-000000000001', 1, 'a0000000-0000-4000-8000-000000000001', '2016-01-04 00:00Z');
INSERT INTO old.subscription VALUES
	('a0000000-0000-4000-8000-000000000002', 'a0000000-0000-4000-8000-000000000001', '2016-01-05 00:00Z');
