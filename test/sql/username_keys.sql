--
-- USERNAME KEYS: which names are one, which are refused, and what is stored
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();

-- Names that are one: the second is taken, and finds the first's user
CREATE TABLE kit.same (n serial, kind text, a text, b text);
INSERT INTO kit.same (kind, a, b) VALUES
	('ASCII', 'Ann', 'aNN'),
	('Latin', U&'\00c9va', U&'\00e9VA'),
	('Greek, two sigmas', U&'\039d\03af\03ba\03bf\03c2', U&'\039d\038a\039a\039f\03a3'),
	('Cyrillic', U&'\0416\0443\043a', U&'\0436\0423\041a'),
	('Armenian ligature', U&'\0587', U&'\0535\0552'),
	('Georgian capitals', U&'\1c90\1c91', U&'\10d0\10d1'),
	('Cherokee', U&'\13a0\13f0', U&'\ab70\13f8'),
	('Deseret', U&'\+010400', U&'\+010428'),
	('Adlam', U&'\+01e900', U&'\+01e922'),
	('sharp s', U&'Stra\00dfe', 'STRASSE'),
	('capital sharp s', U&'gro\1e9e', U&'GRO\00df'),
	('dotted capital I', U&'\0130zmir', U&'i\0307ZMIR'),
	('long s', U&'Hau\017f', 'haus'),
	('Kelvin', U&'300\212a', '300k'),
	('composed', U&'caf\00e9', U&'cafe\0301'),
	('two marks in another order', U&'a\0323\0302x', U&'a\0302\0323x'),
	('marks composed in part', U&'\1eady', U&'\00e2\0323y'),
	('iota subscript', U&'\1fb4', U&'\03b1\0345\0301'),
	('iota subscript in capitals', U&'y\1fbc\0301', U&'Y\0391\0301\0345'),
	('Angstrom', U&'\212bn', U&'A\030aN'),
	('Hangul syllables', U&'\d55c\ae00', U&'\1112\1161\11ab\1100\1173\11af'),
	('halfwidth Hangul', U&'\3131\314f', U&'\ffa1\ffc2'),
	('halfwidth Katakana', U&'\30ac\30ae', U&'\ff76\ff9e\ff77\ff9e'),
	('fullwidth', U&'\ff21\ff44\ff4d\ff11', 'adm1'),
	('ligatures', U&'\fb01sh \fb03x', 'FISH FFIX'),
	('Roman numeral', U&'Louis \2163', 'louis iv'),
	('circled', U&'\24d0\24d1\2460', 'AB1'),
	('superscripts', U&'x\00b2\1d43', 'X2a'),
	('mathematical letters', U&'\+01d400\+01d41b\+01d7d8', 'Ab0'),
	('ideograph of another standard', U&'\f900', U&'\8c48'),
	('Arabic presentation forms', U&'\fefb\fe8e', U&'\0644\0627\0627'),
	('squared words', U&'\3316', U&'\30ad\30ed\30e1\30fc\30c8\30eb'),
	('no-break space', U&'Mary\00a0Ann', 'mary ann'),
	('many spaces', U&'Tom\2003 \3000\1680 Lee', 'tom lee'),
	('zero width space', U&'ad\200bmin', 'admin'),
	('zero width joiner', U&'\0915\094d\200d\0937', U&'\0915\094d\0937'),
	('soft hyphen', U&'root\00ad', 'ROOT'),
	('direction marks', U&'\200f\05d0\05d1\200e', U&'\05d0\05d1'),
	('variation selector', U&'\2764\fe0f', U&'\2764'),
	('tags', U&'flag\+0e0067\+0e007f', 'flag'),
	('blanks behind a mark of direction', U&'shut \200e', 'shut'),
	('nothing between a letter and its mark', U&'xe\034f\0301', U&'x\00e9');
SELECT kind, kit.try(format('blogstore.create_user(%L, %L)', a, kit.u(n))) AS a,
	kit.try(format('blogstore.create_user(%L)', b)) AS b
FROM kit.same ORDER BY n;
SELECT kind FROM kit.same s
WHERE (SELECT g.user_id FROM blogstore.get_user_by_name(b) g) IS DISTINCT FROM kit.u(n)
	OR (SELECT u.username FROM blogstore.get_user(kit.u(n)) u) IS DISTINCT FROM a;
-- a user may take the other name
SELECT kind FROM kit.same s, blogstore.edit_user(kit.u(n), b) u WHERE u.username IS DISTINCT FROM b;
SELECT kind FROM kit.same s
WHERE (SELECT g.user_id FROM blogstore.get_user_by_name(a) g) IS DISTINCT FROM kit.u(n);
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- Names that are not
CREATE TABLE kit.other (kind text, a text, b text);
INSERT INTO kit.other VALUES
	('an accent', 'eva', U&'\00e9va2'),
	('dotless i', 'imam', U&'\0131mam'),
	('stroke', U&'\00f8re', 'ore'),
	('a blank', 'to day', 'today'),
	('a script', 'cope', U&'\0441ope'),
	('U+2800 within', U&'x\2800y', 'xy'),
	('a syllable', U&'\ac04', U&'\ac05'),
	('ideographs', U&'\4e2d', U&'\4e2e'),
	('kana', U&'\304b', U&'\30ab'),
	('an emoji', U&'\+01f600', U&'\+01f601'),
	('private use', U&'\e000', U&'\e001');
SELECT kind, kit.try(format('blogstore.create_user(%L)', a)) AS a, kit.try(format('blogstore.create_user(%L)', b)) AS b
FROM kit.other ORDER BY kind COLLATE "C";

-- A key is found by itself
SELECT username_key FROM blogstore.usernames r
WHERE NOT EXISTS (SELECT FROM blogstore.get_user_by_name(r.username_key) g WHERE g.user_id = r.user_id);

-- The longest key, which an index entry can hold
SELECT kit.try(format('blogstore.create_user(%L)', repeat(U&'\fdfa', 64)));
SELECT length(username_key), octet_length(username_key), (SELECT length(g.username) FROM blogstore.get_user_by_name(username_key) g) AS found
FROM blogstore.usernames ORDER BY 2 DESC LIMIT 1;
SELECT kit.try(format('blogstore.create_user(%L)', repeat(U&'\fdfa', 65)));

-- Blanks at the ends are not stored, nor counted
CREATE TABLE kit.blank AS SELECT n, chr(n) AS c FROM unnest(ARRAY[32, 160, 5760, 8239, 8287, 12288] || ARRAY(SELECT generate_series(8192, 8202))) AS n;
SELECT count(*), bool_and(u.username = 'blank ' || n) AS trimmed
FROM kit.blank, blogstore.create_user(c || 'blank ' || n || c || ' ') u;
SELECT count(*), bool_and(kit.try(format('blogstore.create_user(%L)', c || 'blank ' || n)) = '23505, hint') AS taken FROM kit.blank;
SELECT count(*), bool_and(g.username = 'blank ' || n) AS found FROM kit.blank, blogstore.get_user_by_name(c || 'BLANK' || c || n || c) g;
SELECT username = repeat('w', 64) AS trimmed FROM blogstore.create_user(repeat(' ', 1000) || repeat('w', 64) || repeat(U&'\3000', 1000));
SELECT username = U&'\+01f600' || repeat(U&'\+01f601', 63) AS trimmed FROM blogstore.create_user(U&' \+01f600' || repeat(U&'\+01f601', 63) || ' ');
SELECT username = 'inner  blanks' AS kept FROM blogstore.create_user('inner  blanks ');
SELECT username = 'trimmed' AS trimmed FROM blogstore.edit_user(kit.u(1), U&'\00a0trimmed\2009');
SELECT a.username = 'anew' AND b.username = 'anew' AS same FROM blogstore.create_user('anew', kit.u(900)) a, blogstore.create_user(' anew', kit.u(900)) b;

-- Refused: every control, override, isolate and separator, wherever it stands
CREATE TABLE kit.refused (kind text, n int);
INSERT INTO kit.refused
SELECT 'control', generate_series(1, 31) UNION ALL SELECT 'control', generate_series(127, 159)
UNION ALL SELECT 'override', generate_series(8234, 8238) UNION ALL SELECT 'isolate', generate_series(8294, 8297)
UNION ALL SELECT 'separator', generate_series(8232, 8233);
-- what Unicode has not assigned, has assigned after 14.0, or never will
INSERT INTO kit.refused SELECT 'unassigned', n FROM unnest(ARRAY[888, 907, 1328, 2191, 8293, 65520, 131056, 196592, 262144, 917504, 917632, 921599, 983037]) n;
INSERT INTO kit.refused SELECT 'later', n FROM unnest(ARRAY[3315, 3790, 7305, 12284, 12783, 42955, 69373, 70207, 72448, 73472, 110898, 117760, 119488, 122661, 122928, 124112, 128732, 128884, 177977, 191472, 201552]) n;
INSERT INTO kit.refused SELECT 'no character', n FROM generate_series(64976, 65007) n UNION ALL SELECT 'no character', p * 65536 + n FROM generate_series(0, 16) p, unnest(ARRAY[65534, 65535]) n;
SELECT kind, outcome, count(*) FROM kit.refused, LATERAL (VALUES (chr(n)), ('a' || chr(n)), (chr(n) || 'b'), ('a' || chr(n) || 'b')) v (name),
	LATERAL kit.try(format('blogstore.create_user(%L)', name)) AS outcome
GROUP BY 1, 2 ORDER BY kind COLLATE "C", 2;
SELECT kind, outcome, count(*) FROM kit.refused, LATERAL kit.try(format('blogstore.edit_user(kit.u(2), %L)', 'a' || chr(n) || 'b')) AS outcome
GROUP BY 1, 2 ORDER BY kind COLLATE "C", 2;

-- Ignorable: alone no name, within another nothing
CREATE TABLE kit.ignorable AS SELECT n FROM unnest(ARRAY[173, 847, 1564, 4447, 4448, 6068, 6069, 8203, 8204, 8205, 8206, 8207, 12644, 65279, 65440, 917505]
	|| ARRAY(SELECT generate_series(6155, 6159)) || ARRAY(SELECT generate_series(8288, 8292)) || ARRAY(SELECT generate_series(8298, 8303))
	|| ARRAY(SELECT generate_series(65024, 65039)) || ARRAY(SELECT generate_series(113824, 113827)) || ARRAY(SELECT generate_series(119155, 119162))
	|| ARRAY(SELECT generate_series(917536, 917631)) || ARRAY(SELECT generate_series(917760, 917999))) AS n;
SELECT count(*) FROM kit.ignorable;
SELECT outcome, count(*) FROM kit.ignorable, LATERAL (VALUES (chr(n)), (' ' || chr(n) || ' '), (chr(n) || chr(n)), (chr(n) || chr(10240))) v (name),
	LATERAL kit.try(format('blogstore.create_user(%L)', name)) AS outcome GROUP BY 1;
SELECT outcome, count(*) FROM kit.ignorable, LATERAL (VALUES ('ad' || chr(n) || 'min'), (chr(n) || 'admin'), ('admin' || chr(n)), ('admin ' || chr(n))) v (name),
	LATERAL kit.try(format('blogstore.create_user(%L)', name)) AS outcome GROUP BY 1;
SELECT name, kit.try(format('blogstore.create_user(%L)', v)) FROM (VALUES
	('U+2800', U&'\2800'), ('U+2800 twice, and a blank', U&'\2800 \2800'), ('U+2800 and a joiner', U&'\200d\2800'),
	('fillers', U&'\3164\115f\1160\ffa0'), ('nothing', ''), ('blanks', U&' \00a0\3000')) AS n (name, v);
SELECT kit.try(format('blogstore.edit_user(kit.u(2), %L)', U&'\3164'));
-- names in Hebrew and Arabic have marks of direction, which stay
SELECT username = U&'\05d0\200f \0627\061c\200e' AS kept FROM blogstore.create_user(U&'\05d0\200f \0627\061c\200e');

-- More names than work_mem holds
SELECT count(blogstore.create_user('one of many, number ' || n)) FROM generate_series(1, 1000) n;
SELECT blogstore.wait_for_views();
SET work_mem = '64kB';
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();

-- The registry is filled by the same keys; the worker does not see it missing
CREATE TABLE kit.registry AS SELECT * FROM blogstore.usernames;
SELECT relowner::regrole AS owner FROM pg_class WHERE oid = 'blogstore.usernames'::regclass \gset
BEGIN;
DROP TABLE blogstore.usernames;
SET client_min_messages = warning;
SELECT blogstore.create_containers(owner => :'owner');
COMMIT;
RESET client_min_messages;
SELECT count(*) FROM (TABLE kit.registry EXCEPT TABLE blogstore.usernames) x;
SELECT count(*) FROM (TABLE blogstore.usernames EXCEPT TABLE kit.registry) x;
RESET work_mem;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- Keys that are not what the names fold to: shown, and mended
UPDATE blogstore.usernames SET username_key = U&'\00c9VA' WHERE user_id = kit.u(2);
SELECT container, problem, type, user_id, expected = U&'\00e9VA' AS name, actual = U&'\00c9VA' AS key FROM blogstore.verify() ORDER BY actual;
SELECT user_id FROM blogstore.get_user_by_name(U&'\00e9va');
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
SELECT user_id = kit.u(2) AS found FROM blogstore.get_user_by_name(U&'\00e9va');
-- a row that is in the way of another user's name
BEGIN;
DELETE FROM blogstore.usernames WHERE user_id IN (kit.u(2), kit.u(3));
INSERT INTO blogstore.usernames SELECT username_key, kit.u(2) FROM kit.registry WHERE user_id = kit.u(3);
COMMIT;
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
SELECT count(*) FROM (TABLE kit.registry EXCEPT TABLE blogstore.usernames) x;

-- Names of the owner whose keys are too long for an index entry: verify()
-- reports them, and repair() mends the rest
SELECT count(blogstore.create_user(name, kit.u(n))) FROM (VALUES ('long 1', 941), ('long 2', 942), ('long 3', 943)) v (name, n);
SELECT blogstore.wait_for_views();
UPDATE blogstore.users SET username = (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 100) n) WHERE type = 'user' AND user_id = kit.u(941);
UPDATE blogstore.users SET username = (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 400) n) WHERE type = 'user' AND user_id = kit.u(942);
UPDATE blogstore.users SET username = 'short' WHERE type = 'user' AND user_id = kit.u(943);
SELECT blogstore.wait_for_views();
SELECT problem, user_id, length(expected) AS name, actual FROM blogstore.verify() ORDER BY user_id, actual;
SELECT blogstore.repair();
SELECT username_key, user_id FROM blogstore.usernames WHERE user_id BETWEEN kit.u(941) AND kit.u(943) ORDER BY 2;
-- a registry that is made anew has the others
BEGIN;
DROP TABLE blogstore.usernames;
SET client_min_messages = warning;
SELECT blogstore.create_containers(owner => :'owner');
COMMIT;
RESET client_min_messages;
SELECT username_key, user_id FROM blogstore.usernames WHERE user_id BETWEEN kit.u(941) AND kit.u(943) ORDER BY 2;
SELECT length(username) FROM blogstore.edit_user(kit.u(941), 'long 1');
SELECT length(username) FROM blogstore.edit_user(kit.u(942), 'long 2');
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- Two users whose keys meet: both are named, and neither is changed
SELECT count(blogstore.create_user(name, kit.u(n))) FROM (VALUES ('meet 1', 951), ('meet 2', 952), ('meet 3', 953), ('meet 4', 954), ('meet 5', 955)) v (name, n);
SELECT blogstore.wait_for_views();
-- neither has the key of both
UPDATE blogstore.users SET username = U&'Jos\00e9' WHERE type = 'user' AND user_id = kit.u(951);
UPDATE blogstore.users SET username = U&'JOSE\0301' WHERE type = 'user' AND user_id = kit.u(952);
-- one has it
UPDATE blogstore.users SET username = U&'MEET\200b3' WHERE type = 'user' AND user_id = kit.u(954);
UPDATE blogstore.users SET username = 'meet3' WHERE type = 'user' AND user_id = kit.u(953);
UPDATE blogstore.usernames SET username_key = 'meet3' WHERE user_id = kit.u(953);
-- and one that only has to be mended
UPDATE blogstore.users SET username = 'Meet Five' WHERE type = 'user' AND user_id = kit.u(955);
SELECT blogstore.wait_for_views();
SELECT problem, user_id, expected IS NOT NULL AS name, actual FROM blogstore.verify() ORDER BY user_id, actual;
SELECT blogstore.repair();
SELECT username_key, user_id FROM blogstore.usernames WHERE user_id BETWEEN kit.u(951) AND kit.u(955) ORDER BY 2;
SELECT problem, user_id, expected IS NOT NULL AS name, actual FROM blogstore.verify() ORDER BY user_id, actual;
SELECT blogstore.repair();
-- until one of them gets another name
SELECT username FROM blogstore.edit_user(kit.u(952), 'Joseph');
SELECT username FROM blogstore.edit_user(kit.u(954), 'meet 4');
SELECT blogstore.repair();
SELECT username_key = U&'jos\00e9' AS jose, username_key = 'joseph' AS joseph, username_key ~ '^meet ?3$' AS meet3, username_key = 'meet 4' AS meet4
FROM blogstore.usernames WHERE user_id BETWEEN kit.u(951) AND kit.u(954) ORDER BY user_id;

-- Imports store, refuse and compare names in the same way
CREATE TABLE kit.users (user_id uuid, username text, creation_date timestamptz);
CREATE TABLE kit.rejects (type text, reason text, item jsonb);
INSERT INTO kit.users VALUES (kit.u(1001), U&'  \00c9l\00e9onore\00a0', kit.d(1)), (kit.u(1002), U&'e\0301LE\0301ONORE', kit.d(2)),
	(kit.u(1003), U&'\200badmin', NULL), (kit.u(1004), U&'\3164', NULL), (kit.u(1005), U&'a\202eb', NULL), (kit.u(1006), U&'a\0378b', NULL),
	(kit.u(1007), U&'a\2029', NULL), (kit.u(1008), E'a\tb', NULL), (kit.u(1009), U&' \2003', NULL), (kit.u(1010), repeat(' ', 3000) || repeat('z', 64) || ' ', NULL),
	(kit.u(1011), repeat('z', 65), NULL), (kit.u(1012), U&'\05d0\200f', NULL), (kit.u(1013), U&'\10fcx', NULL);
SET client_min_messages = warning;
SELECT read, imported, present, rejected FROM blogstore.import('kit.users', rejects => 'kit.rejects') WHERE type = 'user';
SELECT right(item ->> 'id', 4) AS id, reason FROM kit.rejects ORDER BY 1;
SELECT right(user_id::text, 4) AS id, username = U&'\00c9l\00e9onore' AS trimmed, length(username), CASE WHEN username ~ '[)]$' THEN username END AS other
FROM blogstore.users u WHERE type = 'user' AND user_id BETWEEN kit.u(1001) AND kit.u(1013) ORDER BY 1;
-- again, with blanks in other places, they are present
UPDATE kit.users SET username = ' ' || username WHERE user_id IN (kit.u(1001), kit.u(1012));
TRUNCATE kit.rejects;
SELECT read, imported, present, rejected FROM blogstore.import('kit.users', rejects => 'kit.rejects') WHERE type = 'user';
-- and in documents
CREATE TABLE kit.documents AS SELECT jsonb_build_object('type', 'user', 'id', kit.u(n), 'username', name) AS document
FROM (VALUES (1021, U&'\3000Zo\00eb '), (1022, U&'ZOE\0308'), (1023, U&'\ffa0'), (1024, U&'a\2066b'), (1025, repeat(' ', 500) || repeat(U&'\+01f600', 64) || ' ')) v (n, name);
TRUNCATE kit.rejects;
SELECT read, imported, present, rejected FROM blogstore.import_documents('kit.documents', 'kit.rejects') WHERE type = 'user';
SELECT right(item ->> 'id', 4) AS id, reason FROM kit.rejects ORDER BY 1;
SELECT username = U&'Zo\00eb' AS trimmed FROM blogstore.get_user_by_name(U&'zo\00cb');
SELECT length(username) FROM blogstore.get_user(kit.u(1025));
-- Existing users get other names: with the same key, each other's, and one
-- that another user keeps
TRUNCATE kit.users, kit.rejects;
INSERT INTO kit.users VALUES (kit.u(1001), U&'E\0301L\00c9ONORE', NULL), (kit.u(1010), U&'zo\00eb', NULL), (kit.u(1021), repeat('Z', 64), NULL),
	(kit.u(1012), U&'\00e9l\00e9onore', NULL);
SELECT read, present, rejected, updated FROM blogstore.import('kit.users', rejects => 'kit.rejects', changed => 'update') WHERE type = 'user';
SELECT right(item ->> 'id', 4) AS id, reason FROM kit.rejects ORDER BY 1;
SELECT right(r.user_id::text, 4) AS id, r.username_key = (ARRAY[U&'\00e9l\00e9onore', U&'zo\00eb', U&'\05d0', repeat('z', 64)])[n] AS key, length(u.username)
FROM (VALUES (1, 1001), (2, 1010), (3, 1012), (4, 1021)) v (n, number) JOIN blogstore.usernames r ON r.user_id = kit.u(number)
JOIN blogstore.users u ON u.user_id = r.user_id AND type = 'user' ORDER BY 1;
-- one of them had another row, which repair() would have deleted
INSERT INTO blogstore.usernames VALUES ('more', kit.u(1012));
TRUNCATE kit.users, kit.rejects;
INSERT INTO kit.users VALUES (kit.u(1012), 'less', NULL), (kit.u(1031), 'More', NULL);
SELECT read, imported, present, rejected, updated FROM blogstore.import('kit.users', rejects => 'kit.rejects', changed => 'update') WHERE type = 'user';
SELECT username_key, right(user_id::text, 4) AS id FROM blogstore.usernames WHERE user_id IN (kit.u(1012), kit.u(1031)) ORDER BY 1;
RESET client_min_messages;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- The constraint of the manual against mixed scripts
DROP TABLE kit.users, kit.rejects, kit.documents;
DROP TABLE kit.same, kit.other, kit.blank, kit.refused, kit.ignorable, kit.registry;
SELECT kit.clear();
DO $$
DECLARE
	leaf	regclass;
BEGIN
	FOR leaf IN SELECT relid FROM pg_partition_tree('blogstore.users') WHERE isleaf AND relid::text LIKE '%\_user' LOOP
		EXECUTE format($check$
			ALTER TABLE %s ADD CONSTRAINT one_script CHECK (
				(username ~ '[A-Za-z\u00c0-\u024f]')::int			-- Latin
				+ (username ~ '[\u0370-\u03ff\u1f00-\u1fff]')::int	-- Greek
				+ (username ~ '[\u0400-\u052f]')::int <= 1)		-- Cyrillic
			$check$, leaf);
	END LOOP;
END
$$;
SELECT kind, kit.try(format('blogstore.create_user(%L)', name)) FROM (VALUES
	('Latin', 'cocoa'), ('Cyrillic for one letter', U&'c\043ecoa'), ('Cyrillic', U&'\0441\043e\0441\043e\0430'), ('Greek for one letter', U&'coc\03bfa'),
	('accents', U&'co\00e7oa'), ('numbers', '2024'), ('Han', U&'\4e2d2')) v (kind, name);
DO $$
DECLARE
	leaf	regclass;
BEGIN
	FOR leaf IN SELECT relid FROM pg_partition_tree('blogstore.users') WHERE isleaf AND relid::text LIKE '%\_user' LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT one_script', leaf);
	END LOOP;
END
$$;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
