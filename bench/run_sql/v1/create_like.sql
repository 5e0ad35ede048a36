INSERT INTO likes (post_id, user_id)
VALUES (('0190000000007000' || :post)::uuid, ('0180000000007000' || :user)::uuid)
ON CONFLICT DO NOTHING
RETURNING like_id AS id, 'like' AS type, post_id, user_id, creation_date;
