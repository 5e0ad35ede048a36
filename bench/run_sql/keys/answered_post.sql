-- answered_post.sql
--		Any post, and the comment on it that others answer.
\set post 8000000000000000 + random(1, :posts)
\set comment 8000000000000026 + (:post - 8000000000000000) * 32
