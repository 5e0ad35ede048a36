INSERT INTO likes (post_id, user_id, user_username)
VALUES (('0190000000007000' || :post)::uuid, ('0180000000007000' || :user)::uuid, 'author of it')
RETURNING id, type, post_id, user_id, user_username, creation_date;
