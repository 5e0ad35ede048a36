INSERT INTO comments (post_id, user_id, content)
VALUES (('0190000000007000' || :post)::uuid, ('0180000000007000' || :user)::uuid,
	'Comment ' || :number || ' says what people say, and takes two lines to say it, as they come.')
RETURNING comment_id AS id, 'comment' AS type, post_id, user_id, content, creation_date;
