INSERT INTO likes (post_id, user_id)
VALUES (md5('p' || :post)::uuid, md5('u' || :user)::uuid)
ON CONFLICT DO NOTHING;
