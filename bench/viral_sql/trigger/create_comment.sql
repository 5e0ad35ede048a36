INSERT INTO comments (post_id, user_id, content)
VALUES (md5('p' || :post)::uuid, md5('u' || :user)::uuid,
	'A comment of some fifty characters, as they come.');
