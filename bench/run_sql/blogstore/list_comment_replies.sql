SELECT id, type, post_id, user_id, user_username, content, creation_date, parent_id
FROM blogstore.list_comment_replies(post_id => ('0190000000007000' || :post)::uuid, parent_id => ('01a0000000007000' || :comment)::uuid);
