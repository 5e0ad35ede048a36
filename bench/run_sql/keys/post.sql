-- post.sql
--		Any post.
\set post 8000000000000000 + random(1, :posts)
