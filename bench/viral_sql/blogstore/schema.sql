-- schema.sql
--		blogstore's containers; the worker begins in the copies of this database.
CREATE EXTENSION blogstore;
SELECT blogstore.create_containers();
SELECT blogstore.stop_worker(drop_slot => true);
