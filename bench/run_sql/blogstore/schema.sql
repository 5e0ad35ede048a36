-- schema.sql
--		blogstore's containers, without a worker yet.
SELECT blogstore.create_containers();
SELECT blogstore.stop_worker(drop_slot => true);
