-- load.sql
--		blogstore from staging: a slice, and the users if they are not there yet.
SELECT * FROM blogstore.import(users => 'staging.users', posts => 'staging.posts',
	comments => 'staging.comments', likes => 'staging.likes');
