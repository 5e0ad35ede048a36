--
-- USERS: C1 and Q1
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();

-- C1: every property as given, by position and by name
SELECT * FROM blogstore.create_user('Alice', kit.u(1), kit.d(1));
SELECT * FROM blogstore.create_user(creation_date => kit.d(2), username => 'bob', user_id => kit.u(2));

-- Without an id and a date: a version 7 uuid of this millisecond, dated now
SELECT type, username, id = user_id AS one_id,
	substr(id::text, 15, 1) AS version, substr(id::text, 20, 1) IN ('8', '9', 'a', 'b') AS variant,
	('x' || translate(substr(id::text, 1, 13), '-', ''))::bit(48)::bigint
		BETWEEN floor(extract(epoch FROM now()) * 1000) AND extract(epoch FROM clock_timestamp()) * 1000 AS id_of_now,
	creation_date BETWEEN now() AND clock_timestamp() AS dated_now
FROM blogstore.create_user('carol');
SELECT count(DISTINCT blogstore.new_id()) FROM generate_series(1, 10000);
-- later ids sort after earlier ones of another millisecond
SELECT blogstore.new_id() AS first_id \gset
SELECT pg_sleep(0.002);
SELECT :'first_id'::uuid < blogstore.new_id() AS ascending;

-- Q1
SELECT * FROM blogstore.get_user(kit.u(1));
SELECT * FROM blogstore.get_user(user_id => kit.u(2));
SELECT * FROM blogstore.get_user(kit.u(99));
SELECT * FROM blogstore.get_user_by_name('Alice');
SELECT * FROM blogstore.get_user_by_name(username => 'aLICE');
SELECT * FROM blogstore.get_user_by_name('nobody');
SELECT * FROM blogstore.get_user_by_name('');

-- Names: one to 64 characters, spaces and any script within, no matter how
-- many bytes they are
SELECT kit.try(format('blogstore.create_user(%L)', name)) AS outcome, length(name), octet_length(name) AS bytes
FROM (VALUES ('x'), (repeat('x', 64)), (repeat(U&'\00e9', 64)), (repeat(U&'\+01f600', 64)), ('Mary Ann  Evans'),
	($$o'brien "\%_;--$$), (U&'\4e2d\6587'), (repeat('y', 65)), (repeat(U&'\00e9', 65))) AS v (name);
SELECT username FROM blogstore.get_user_by_name($$O'Brien "\%_;--$$);

-- Names are taken regardless of case; ids of users are too
SELECT call, kit.try(call) FROM (VALUES
	('blogstore.create_user(''alice'')'),
	('blogstore.create_user(''ALICE'', kit.u(3))'),
	('blogstore.create_user(''alicia'', kit.u(1))')) AS v (call);

-- C1 edit: a new name, found by it and no longer by the old one
SELECT * FROM blogstore.edit_user(kit.u(1), 'Alicia');
SELECT username FROM blogstore.get_user(kit.u(1));
SELECT username FROM blogstore.get_user_by_name('ALICIA');
SELECT username FROM blogstore.get_user_by_name('alice');
-- the same name again, and only its case
SELECT username FROM blogstore.edit_user(username => 'Alicia', user_id => kit.u(1));
SELECT username FROM blogstore.edit_user(kit.u(1), 'aLiCiA');
SELECT username FROM blogstore.get_user_by_name('Alicia');
-- a name of another user, in any case
SELECT kit.try('blogstore.edit_user(kit.u(1), ''BOB'')');
-- the old name is free again, within the transaction too
BEGIN;
SELECT username FROM blogstore.edit_user(kit.u(2), 'robert');
SELECT username FROM blogstore.create_user('Bob', kit.u(3), kit.d(3));
SELECT username, user_id FROM blogstore.get_user_by_name('bob');
ROLLBACK;
SELECT username, user_id FROM blogstore.get_user_by_name('bob');
SELECT * FROM blogstore.get_user_by_name('robert');
SELECT * FROM blogstore.get_user(kit.u(3));
-- two users swap their names
BEGIN;
SELECT username FROM blogstore.edit_user(kit.u(1), 'someone');
SELECT username FROM blogstore.edit_user(kit.u(2), 'Alicia');
SELECT username FROM blogstore.edit_user(kit.u(1), 'bob');
COMMIT;
SELECT username FROM blogstore.get_user(kit.u(1));
SELECT username FROM blogstore.get_user(kit.u(2));

-- delete: the name is free again, and so is the id
SELECT blogstore.delete_user(kit.u(1));
SELECT * FROM blogstore.get_user(kit.u(1));
SELECT * FROM blogstore.get_user_by_name('bob');
SELECT blogstore.delete_user(kit.u(1));
SELECT blogstore.delete_user(user_id => kit.u(99));
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.create_user('BOB', kit.u(1), kit.d(9));

SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
