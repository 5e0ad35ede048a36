-- setup.sql
--		What the site needs of a database that has blogstore's containers.
--
-- Three roles, so that nothing the site sends can act for anybody but who has
-- signed in:
--
--	site_owner		owns the schema "site" with wrappers of the requests; never logs in
--	site_visitor	may call these wrappers and nothing else: what a visitor's request runs as
--	site_app		logs in, says who the visitor is, and becomes site_visitor
--
-- To be run with psql by a superuser, and again after an update of the extension. The
-- environment's SITE_PASSWORD becomes site_app's password.

\set ON_ERROR_STOP on
\getenv password SITE_PASSWORD

SELECT format('CREATE ROLE %I %s', name, options)
FROM (VALUES ('site_owner', 'NOLOGIN'), ('site_visitor', 'NOLOGIN'), ('site_app', 'LOGIN NOINHERIT')) AS role (name, options)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

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
