-- blogstore.sql
--		blogstore from the staging tables: by the commands that a living site
--		uses, so that pages are as full as it leaves them.
SELECT count(blogstore.create_user(username => username, user_id => user_id)) FROM (SELECT * FROM staging.users ORDER BY n) AS u;
SELECT count(blogstore.create_post(user_id => user_id, title => title, content => content, post_id => post_id,
	creation_date => creation_date)) FROM (SELECT * FROM staging.posts ORDER BY n) AS p;
