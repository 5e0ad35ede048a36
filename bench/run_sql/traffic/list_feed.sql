-- list_feed.sql
--		The front page.
SELECT * FROM blogstore.list_feed();
