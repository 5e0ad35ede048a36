--
-- COUNTS: comment_count and like_count are those of the snapshot, whatever
-- the transaction, its savepoints and its isolation level
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(20, 3);

-- Within one transaction, statement by statement
BEGIN;
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(1));
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(1));
SELECT count(*) FROM blogstore.create_comment(kit.p(1), kit.u(1), 'one', kit.c(1));
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(1));
SELECT blogstore.delete_like(kit.p(1), kit.u(1));
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(1));
SELECT * FROM kit.wrong_counts();
ROLLBACK;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(1));
SELECT * FROM kit.wrong_counts();

-- Savepoints: rolled back, released, nested
BEGIN;
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(1));
SAVEPOINT a;
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(2));
SELECT count(*) FROM blogstore.create_comment(kit.p(1), kit.u(2), 'gone');
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(1));
ROLLBACK TO a;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(1));
SELECT * FROM kit.wrong_counts();
-- the like that was rolled back may be made again
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(2));
SAVEPOINT b;
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(3));
SAVEPOINT c;
SELECT blogstore.delete_like(kit.p(1), kit.u(1));
SELECT blogstore.delete_like(kit.p(1), kit.u(3));
SELECT like_count FROM blogstore.get_post(kit.p(1));
ROLLBACK TO c;
SELECT like_count FROM blogstore.get_post(kit.p(1));
RELEASE b;
SAVEPOINT d;
SELECT title FROM blogstore.edit_post(kit.p(1), 'undone');
SELECT blogstore.delete_post(kit.p(1));
ROLLBACK TO d;
SELECT like_count, comment_count, title FROM blogstore.get_post(kit.p(1));
COMMIT;
SELECT like_count, comment_count, title FROM blogstore.get_post(kit.p(1));
SELECT * FROM kit.wrong_counts();

-- Errors are savepoints too: a failed command leaves no count behind
SELECT kit.try('blogstore.create_comment(kit.p(1), kit.u(1), '''')');
SELECT kit.try('(SELECT blogstore.create_like(kit.p(1), kit.u(4)), blogstore.create_like(kit.p(1), kit.u(99))) x');
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(1));

-- Many in one statement, on one post
SELECT count(blogstore.create_like(kit.p(2), kit.u(n))) FROM generate_series(1, 20) n;
SELECT count(blogstore.create_comment(kit.p(2), kit.u(n), 'comment ' || n)) FROM generate_series(1, 20) n;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(2));
SELECT count(*) FILTER (WHERE blogstore.delete_like(kit.p(2), kit.u(n))) FROM generate_series(1, 30, 2) n;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(2));
-- made and deleted in turn, 300 times in one transaction
DO $$
BEGIN
	FOR n IN 1 .. 300 LOOP
		PERFORM blogstore.create_like(kit.p(3), kit.u(1));
		PERFORM blogstore.create_comment(kit.p(3), kit.u(1), 'x', kit.c(n));
		PERFORM blogstore.delete_like(kit.p(3), kit.u(1));
		IF n % 3 = 0 THEN
			PERFORM blogstore.delete_comment(kit.p(3), kit.c(n));
		END IF;
	END LOOP;
END $$;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(3));
SELECT * FROM kit.wrong_counts();

-- An edit never touches counts, and a delete that finds nothing neither
SELECT like_count, comment_count FROM blogstore.edit_post(kit.p(3), 'edited');
SELECT blogstore.delete_comment(kit.p(3), kit.c(3)), blogstore.delete_like(kit.p(3), kit.u(1));
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(3));

-- The same under the other isolation levels
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(3));
SELECT count(*) FROM blogstore.create_like(kit.p(3), kit.u(1));
SELECT count(*) FROM blogstore.create_like(kit.p(3), kit.u(2));
SELECT blogstore.delete_comment(kit.p(3), kit.c(1));
SELECT title, like_count, comment_count FROM blogstore.edit_post(kit.p(3), 'edited again');
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(3));
SELECT * FROM kit.wrong_counts();
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(3));
SELECT blogstore.delete_like(kit.p(3), kit.u(1));
SELECT count(*) FROM blogstore.create_comment(kit.p(3), kit.u(1), 'again', kit.c(1));
SAVEPOINT a;
SELECT count(*) FROM blogstore.create_like(kit.p(3), kit.u(3));
ROLLBACK TO a;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(3));
SELECT * FROM kit.wrong_counts();
COMMIT;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(3));
SELECT * FROM kit.wrong_counts();

SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
