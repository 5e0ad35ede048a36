-- blogstore.sql
--		The same in blogstore: imported, with its views.
SELECT * FROM blogstore.import(users => 's.users', posts => 's.posts', comments => 's.comments', likes => 's.likes');
SELECT blogstore.wait_for_views('1 hour');
