SELECT blogstore.create_comment(md5('p' || :post)::uuid, md5('u' || :user)::uuid,
	'A comment of some fifty characters, as they come.');
