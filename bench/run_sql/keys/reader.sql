-- reader.sql
--		Any user who follows others.
\set reader 8000000000000000 + random(:first, :last)
