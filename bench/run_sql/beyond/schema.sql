-- schema.sql
--		The tables of the floor, with the columns that blogstore has beyond
--		the article.
\ir ../floor/schema.sql
ALTER TABLE posts ADD COLUMN hidden boolean, ADD COLUMN modification_date timestamptz, ADD COLUMN properties jsonb;
ALTER TABLE comments ADD COLUMN parent_id uuid, ADD COLUMN hidden boolean, ADD COLUMN modification_date timestamptz, ADD COLUMN properties jsonb;
