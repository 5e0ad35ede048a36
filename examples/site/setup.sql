-- setup.sql
--		Prepare a database that has blogstore's containers for the site.
--
-- With these three roles, a request of the site can act only for the user that
-- has signed in:
--
--	site_owner		owns schema "site" with wrappers of the requests; cannot
--					log in
--	site_visitor	may call only these wrappers; visitors' requests
--					run as this role
--	site_app		logs in, sets the visitor's user id, and does SET ROLE
--					site_visitor
--
-- A superuser runs this file with psql, and runs it again after each update of
-- the extension. The environment variable SITE_PASSWORD has the password for
-- site_app.

\set ON_ERROR_STOP on
\getenv password SITE_PASSWORD

SELECT format('CREATE ROLE %I %s', name, options)
FROM (VALUES ('site_owner', 'NOLOGIN'), ('site_visitor', 'NOLOGIN'), ('site_app', 'LOGIN NOINHERIT')) AS role (name, options)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

-- A post's topics are the strings of its property "topics". A server that uses
-- another property goes on with it.
SELECT $$ALTER SYSTEM SET blogstore.topic_property = 'topics'$$
WHERE current_setting('blogstore.topic_property') = '' \gexec

-- Pages show what is new without being reloaded (live.js).
SELECT 'ALTER SYSTEM SET blogstore.notify = on'
WHERE NOT current_setting('blogstore.notify')::boolean \gexec
SELECT pg_reload_conf();

SELECT blogstore.grant_requests('site_owner');
GRANT EXECUTE ON FUNCTION blogstore.create_api TO site_owner;
CREATE SCHEMA IF NOT EXISTS site AUTHORIZATION site_owner;
SET ROLE site_owner;
SELECT blogstore.create_api('site', 'site_visitor', as_caller => true);
RESET ROLE;

GRANT site_visitor TO site_app;
GRANT SET ON PARAMETER blogstore.current_user_id TO site_app;
GRANT EXECUTE ON FUNCTION blogstore.wait_for_views TO site_app;
ALTER ROLE site_app PASSWORD :'password';
