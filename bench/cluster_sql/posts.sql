-- posts.sql
--		Write the posts from :first to :last that belong to this server, in
--		session :part of :parts.
SELECT count(blogstore.create_post(p.user_id, p.title, p.content, p.post_id, p.creation_date))
FROM staging.posts p JOIN staging.mine USING (post_id)
WHERE p.n BETWEEN :first AND :last AND p.n % :parts = :part;
