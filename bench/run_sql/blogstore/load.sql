-- load.sql
--		Load blogstore from the staging tables: a slice, and the users if they
--		are not loaded yet.
SELECT * FROM blogstore.import(users => 'staging.users', posts => 'staging.posts',
	comments => 'staging.comments', likes => 'staging.likes');
