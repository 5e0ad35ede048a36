-- create_post.sql
--		A popular author writes.
\set user 8000000000000001 + permute(random_zipfian(1, :users, 1.1) - 1, :users)
\set number random(1, 1000000000000)
SELECT * FROM blogstore.create_post(user_id => ('0180000000007000' || :user)::uuid, title => 'Written ' || :number,
	content => 'Content by traffic ' || :number || repeat(', and what one writes about it', 32));
