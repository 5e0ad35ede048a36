/*
 * verify_tally.c
 *		verify(): what lies on each post, summed up.
 *
 * On one machine likes, comments and deltas are summed up each by themselves, which takes least,
 * in the one snapshot of the statement. On a cluster each part of the statement that is read on
 * other nodes has a snapshot of its own there: a like that comes between two of them would be
 * counted and not found. So all that lies on a post is read together there.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/verify.h"
#include "storage/layout/layout.h"

/*
 * Comments or likes summed up by their posts; odd: one of them has to be looked at. There
 * are so many that they may be written to the disk on their way, so a row has no more than
 * is summed up, and is asked as little as can be.
 */
#define SUMS_SQL(type, also_valid, column, carried, counted) \
	"(SELECT s.post_id, count(*)" counted " AS n, count(*) > count(s.named) AS odd" \
	" FROM (SELECT i.post_id" carried ", CASE WHEN i.user_username COLLATE \"C\" = a.username" \
	" THEN true END AS named FROM (SELECT post_id, user_id" column "," \
	" CASE WHEN id IS NOT NULL AND creation_date IS NOT NULL" also_valid \
	" THEN user_username END AS user_username" \
	" FROM " POSTS_SQL " WHERE type = '" type "' OFFSET 0) AS i" \
	" LEFT JOIN account AS a ON a.user_id = i.user_id OFFSET 0) AS s" \
	" GROUP BY s.post_id)"

static const char by_type_sql[] =
	" liked AS MATERIALIZED "
	SUMS_SQL("like", "", "", "", "") ","
	" commented AS MATERIALIZED "
	SUMS_SQL("comment", " AND content IS NOT NULL",
			 ", hidden IS NOT TRUE AS shown", ", i.shown", " FILTER (WHERE s.shown)") ","
	" counted AS MATERIALIZED (SELECT post_id, sum(comment_count) AS comment_delta,"
	" sum(like_count) AS like_delta,"
	" bool_or(id IS NULL OR comment_count IS NULL OR like_count IS NULL) AS odd"
	" FROM " POSTS_SQL " WHERE type = 'delta' AND " COUNTS_SQL " GROUP BY post_id),"

	/* all of it, each post once: else the planner might hash posts to look that up */
	" tally AS NOT MATERIALIZED (SELECT post_id, max(comment_delta) AS comment_delta,"
	" max(like_delta) AS like_delta, max(comments) AS comments, max(likes) AS likes,"
	" bool_or(odd) AS odd FROM (SELECT post_id, comment_delta, like_delta,"
	" NULL::bigint AS comments, NULL::bigint AS likes, odd FROM counted"
	" UNION ALL SELECT post_id, NULL, NULL, n, NULL, odd FROM commented"
	" UNION ALL SELECT post_id, NULL, NULL, NULL, n, odd FROM liked) AS u GROUP BY post_id)";

static const char together_sql[] =
	" tally AS MATERIALIZED (SELECT s.post_id, sum(s.comment_delta) AS comment_delta,"
	" sum(s.like_delta) AS like_delta, count(*) FILTER (WHERE s.is_comment) AS comments,"
	" count(*) FILTER (WHERE s.is_like) AS likes, bool_or(s.odd) AS odd"
	" FROM (SELECT i.post_id, i.type = 'like' AS is_like,"
	" i.type = 'comment' AND i.hidden IS NOT TRUE AS is_comment,"
	" CASE WHEN i.type = 'delta' THEN i.comment_count END AS comment_delta,"
	" CASE WHEN i.type = 'delta' THEN i.like_count END AS like_delta,"
	" i.id IS NULL OR CASE WHEN i.type = 'delta'"
	" THEN i.comment_count IS NULL OR i.like_count IS NULL"
	" ELSE i.no_content OR i.creation_date IS NULL"
	" OR (i.user_username COLLATE \"C\" = a.username) IS NOT TRUE END AS odd"
	" FROM (SELECT id, type, post_id, user_id, user_username,"
	" type = 'comment' AND content IS NULL AS no_content, comment_count,"
	" like_count, creation_date, hidden FROM " POSTS_SQL
	" WHERE " ON_POST_SQL " OFFSET 0) AS i"
	" LEFT JOIN account AS a ON a.user_id = i.user_id OFFSET 0) AS s"
	" GROUP BY s.post_id)";

/*
 * The part of the statement that makes tally of account: post_id, comment_delta, like_delta,
 * comments, likes, 0 or NULL where there is none; odd: something on it has to be looked at.
 */
const char *
verify_tally(void)
{
	return layout_is_spread() ? together_sql : by_type_sql;
}
