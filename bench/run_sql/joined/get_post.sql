SELECT id, type, post_id, user_id, user_username, title, content, counters.comment_count, counters.like_count, creation_date
FROM floor.posts JOIN counters USING (post_id)
WHERE post_id = ('0190000000007000' || :post)::uuid;
