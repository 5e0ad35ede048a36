-- load.sql
--		blogstore from staging.
SELECT * FROM blogstore.import(users => 'staging.users', posts => 'staging.posts',
	comments => 'staging.comments', likes => 'staging.likes');
