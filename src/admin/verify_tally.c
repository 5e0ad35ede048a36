/*
 * verify_tally.c
 *		The CTE "tally" of verify()'s main statement: for each post, the
 *		numbers of its comments and likes, and the sums of its deltas.
 *
 * Likes, comments and deltas are aggregated separately, because this is
 * fastest.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/verify.h"
#include "storage/layout/layout.h"

/*
 * A subquery that counts the comments or likes on each post. Its column "odd"
 * is true if an item on the post lacks a required value, or does not have its
 * author's current username.
 *
 * type: "comment", "like" or "comment_like"
 * also_valid: " AND" and a further condition that an item must meet, or ""
 *
 * Hidden comments are not counted. The other arguments are "" for likes, and
 * have these values for comments:
 *
 * column: defines a column that is true if the comment is not hidden
 * carried: passes this column from the inner SELECT to the outer one
 * counted: a FILTER clause for count(), which tests this column
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
	RECOUNTED_SQL("OFFSET 0") ","
	" liked AS MATERIALIZED "
	SUMS_SQL("like", "", "", "", "") ","
	" liked_comments AS MATERIALIZED "
	SUMS_SQL("comment_like", " AND comment_id IS NOT NULL", "", "", "") ","
	" commented AS MATERIALIZED "
	SUMS_SQL("comment", " AND content IS NOT NULL",
			 ", hidden IS NOT TRUE AS shown", ", i.shown", " FILTER (WHERE s.shown)") ","
	" counted AS MATERIALIZED (SELECT post_id,"
	" sum(comment_count) FILTER (WHERE item_id = post_id) AS comment_delta,"
	" sum(like_count) FILTER (WHERE item_id = post_id) AS like_delta,"
	" bool_or(num_nulls(id, item_id, comment_count, like_count) > 0) AS odd"
	" FROM " POSTS_SQL " WHERE type = 'delta' AND " COUNTS_SQL " GROUP BY post_id),"

	/*
	 * One row for each post. GROUP BY tells the planner that post_id is unique
	 * here. Otherwise a join with all posts would hash the posts.
	 */
	" tally AS NOT MATERIALIZED (SELECT post_id, max(comment_delta) AS comment_delta,"
	" max(like_delta) AS like_delta, max(comments) AS comments, max(likes) AS likes,"
	" bool_or(odd) AS odd FROM (SELECT post_id, comment_delta, like_delta,"
	" NULL::bigint AS comments, NULL::bigint AS likes, odd FROM counted"
	" UNION ALL SELECT post_id, NULL, NULL, n, NULL, odd FROM commented"
	" UNION ALL SELECT post_id, NULL, NULL, NULL, n, odd FROM liked"
	" UNION ALL SELECT post_id, NULL, NULL, NULL, NULL, odd FROM liked_comments"
	") AS u GROUP BY post_id)";
