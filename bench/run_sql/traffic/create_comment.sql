-- create_comment.sql
--		A random user comments on a popular post.
\set post 8000000000000001 + permute(random_zipfian(1, :live, 1.1) - 1, :live)
\set user 8000000000000000 + random(1, :users)
\set number random(1, 1000000000000)
SELECT * FROM blogstore.create_comment(post_id => ('0190000000007000' || :post)::uuid, user_id => ('0180000000007000' || :user)::uuid,
	content => 'Comment ' || :number || ' says what people say, and takes two lines to say it, as they come.');
