-- indexes.sql
--		Keys of the rows, and of the short copies.
\ir keys.sql
ALTER TABLE user_posts ADD PRIMARY KEY (user_id, creation_date, id);
ALTER TABLE feed ADD PRIMARY KEY (creation_date, id);
