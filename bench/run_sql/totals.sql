-- totals.sql
--		Of each kind of item how many there are, and a sum of hashes that does
--		not depend on their order.
SELECT 'users', count(*), sum(hashtextextended(t::text, 0)::numeric) FROM all_users AS t
UNION ALL
SELECT 'posts', count(*), sum(hashtextextended(t::text, 0)::numeric) FROM all_posts AS t
UNION ALL
SELECT 'copies', count(*), sum(hashtextextended(t::text, 0)::numeric) FROM all_copies AS t
UNION ALL
SELECT 'comments', count(*), sum(hashtextextended(t::text, 0)::numeric) FROM all_comments AS t
UNION ALL
SELECT 'likes', count(*), sum(hashtextextended(t::text, 0)::numeric) FROM all_likes AS t
ORDER BY 1;
