-- edit_post.sql
--		A popular post is edited.
\set post 8000000000000001 + permute(random_zipfian(1, :live, 1.1) - 1, :live)
\set number random(1, 1000000000000)
SELECT * FROM blogstore.edit_post(post_id => ('0190000000007000' || :post)::uuid, content => 'Content by traffic ' || :number || repeat(', and what one writes about it', 32));
