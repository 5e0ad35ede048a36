-- comments.sql
--		Write the comments on the posts from :first to :last that belong to
--		this server, in session :part of :parts.
SELECT count(blogstore.create_comment(c.post_id, c.user_id, c.content, c.comment_id, c.creation_date))
FROM staging.posts p JOIN staging.mine USING (post_id) JOIN staging.comments c USING (post_id)
WHERE p.n BETWEEN :first AND :last AND p.n % :parts = :part;
