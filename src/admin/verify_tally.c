/*
 * verify_tally.c
 *		verify(): what lies on each post, summed up.
 *
 * Likes, comments and deltas are summed up each by themselves, which takes least, in the one
 * snapshot of the statement.
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

const char verify_tally_sql[] =
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
