-- delete_comment.sql
--		The newest comment on a popular post is deleted.
\set post 8000000000000001 + permute(random_zipfian(1, :live, 1.1) - 1, :live)
SELECT blogstore.delete_comment(c.post_id, c.id) FROM blogstore.list_post_comments(post_id => ('0190000000007000' || :post)::uuid, page_size => 1) AS c;
