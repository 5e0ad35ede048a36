SELECT * FROM blogstore.edit_post(post_id => ('0190000000007000' || :post)::uuid,
	content => 'Content by edit ' || :number || repeat(', and what one writes about it', 32));
