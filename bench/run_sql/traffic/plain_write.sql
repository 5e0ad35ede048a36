-- plain_write.sql
--		A row into a plain table that takes no others; nothing is counted.
\set post 8000000000000001 + permute(random_zipfian(1, :live, 1.1) - 1, :live)
\set user 8000000000000000 + random(1, :users)
INSERT INTO plain.likes (post_id, user_id, user_username) VALUES (('0190000000007000' || :post)::uuid, ('0180000000007000' || :user)::uuid, 'author of it')
ON CONFLICT DO NOTHING;
