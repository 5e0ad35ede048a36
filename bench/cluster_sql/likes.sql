-- likes.sql
--		Write the likes of the posts from :first to :last that belong to this
--		server, in session :part of :parts.
SELECT count(blogstore.create_like(l.post_id, l.user_id, l.creation_date))
FROM staging.posts p JOIN staging.mine USING (post_id) JOIN staging.likes l USING (post_id)
WHERE p.n BETWEEN :first AND :last AND p.n % :parts = :part;
