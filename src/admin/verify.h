/*
 * verify.h
 *		What the files of verify() and repair() share.
 */
#ifndef BLOGSTORE_VERIFY_H
#define BLOGSTORE_VERIFY_H

#include "model/user_changes/user_changes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/launcher/launcher.h"

/*
 * Columns of a finding. verify() returns the first eight. repair() also uses
 * the ninth.
 */
typedef enum FindingColumn
{
	FINDING_CONTAINER = 1,
	FINDING_PROBLEM,
	FINDING_TYPE,
	FINDING_ID,
	FINDING_POST_ID,
	FINDING_USER_ID,
	FINDING_EXPECTED,
	FINDING_ACTUAL,
	FINDING_CREATION_DATE
} FindingColumn;

#define N_VERIFY_COLUMNS FINDING_ACTUAL

/*
 * Condition in SQL: a delta has a count other than zero. A delta whose counts
 * are zero may remain after its post was deleted, and is no error.
 */
#define COUNTS_SQL \
	"(comment_count IS DISTINCT FROM 0 OR like_count IS DISTINCT FROM 0)"

/*
 * Condition in SQL: the item is a comment, a like, or a delta with a count
 * other than zero. It is an error if the post of such an item does not exist.
 */
#define ON_POST_SQL \
	"(type IN ('comment', 'like', 'comment_like') OR type = 'delta' AND " \
	COUNTS_SQL ")"

/*
 * A CTE of the comments whose deltas have wrong sums. The sums must be the
 * numbers of the comment's likes, and of its replies that are not hidden. If
 * the comment does not exist, but has likes or deltas, the column "lost" is
 * true. Replies to such a comment are no error, because a reply may outlive
 * its parent.
 *
 * fence: "OFFSET 0" on one machine, to keep the planner from considering the
 *     indexes of all partitions; "" on a cluster
 */
#define RECOUNTED_SQL(fence) \
	" recounted AS MATERIALIZED (SELECT c.post_id, c.id, i.user_id, i.creation_date," \
	" c.replies, c.replies_counted, c.likes, c.likes_counted, i.id IS NULL AS lost" \
	" FROM (SELECT u.post_id, u.id, sum(u.replies) AS replies," \
	" coalesce(sum(u.replies_counted), 0) AS replies_counted," \
	" sum(u.likes) AS likes, coalesce(sum(u.likes_counted), 0) AS likes_counted" \
	" FROM (SELECT post_id, parent_id AS id, 1 AS replies," \
	" 0::bigint AS replies_counted, 0 AS likes, 0::bigint AS likes_counted" \
	" FROM " POSTS_SQL " WHERE type = 'comment' AND parent_id IS NOT NULL" \
	" AND hidden IS NOT TRUE" \
	" UNION ALL SELECT post_id, comment_id, 0, 0, 1, 0 FROM " POSTS_SQL \
	" WHERE type = 'comment_like' AND comment_id IS NOT NULL" \
	" UNION ALL SELECT post_id, item_id, 0, comment_count, 0, like_count FROM " POSTS_SQL \
	" WHERE type = 'delta' AND item_id <> post_id) AS u" \
	" GROUP BY u.post_id, u.id) AS c" \
	" LEFT JOIN (SELECT post_id, id, user_id, creation_date FROM " POSTS_SQL \
	" WHERE type = 'comment' " fence ") AS i ON i.post_id = c.post_id AND i.id = c.id" \
	" WHERE c.likes <> c.likes_counted OR CASE WHEN i.id IS NULL" \
	" THEN c.replies_counted <> 0 OR c.likes <> 0 ELSE c.replies <> c.replies_counted END)"

/*
 * A query for the users in a table, with their names. The caller runs it with
 * the DestReceiver that keyed_names_begin() returns. This receiver adds the
 * case-folded name to each result row.
 */
#define VERIFY_NAMES_SQL(users) \
	"SELECT user_id, username, creation_date FROM " users \
	" WHERE type = 'user' AND user_id IS NOT NULL"

/*
 * Compares the table usernames with the users. KEYED_NAMES is a relation of
 * all users, with their case-folded names. The query returns two kinds of
 * findings:
 *
 * - A row of "usernames" is missing: a user has no row with the user's
 *   case-folded name.
 * - A row of "usernames" is wrong: its user does not exist, or has another
 *   case-folded name.
 *
 * Users whose name is null are left out.
 *
 * registry: the table usernames; on a cluster, the part of it on this node
 */
#define VERIFY_REGISTRY_SQL(registry) \
	"SELECT 'users', 'registry', 'user', coalesce(a.user_id, n.user_id), NULL::uuid," \
	" coalesce(a.user_id, n.user_id), a.username, n.username_key, NULL::timestamptz" \
	" FROM (SELECT * FROM " KEYED_NAMES " WHERE username IS NOT NULL) AS a" \
	" FULL JOIN (SELECT r.* FROM " registry " AS r" \
	" WHERE num_nulls(r.username_key, r.user_id) = 0 AND NOT EXISTS" \
	" (SELECT FROM " KEYED_NAMES " AS u WHERE u.user_id = r.user_id" \
	" AND u.username IS NULL)) AS n" \
	" ON n.username_key = a.name_key COLLATE \"C\" AND n.user_id = a.user_id" \
	" WHERE a.user_id IS NULL OR n.user_id IS NULL"

/*
 * Compares follows with the users whom they name. A follow is wrong if one of
 * its users does not exist, or if it has another name of a user than the
 * user's own. Follows of users who are being deleted are not compared. Nor are
 * names that a queued rename will correct. The CTE "ends" has a follow once
 * for each of its two users.
 *
 * users: the table that users are read from
 * kept: MATERIALIZED, so that the tables are read once; on a cluster NOT
 *	MATERIALIZED, so that each node compares its follows
 */
#define VERIFY_FOLLOWS_SQL(users, kept) \
	"WITH follow AS " kept " (SELECT id, user_id, user_username, followed_id," \
	" followed_username, creation_date FROM " USERS_SQL " WHERE type = 'follow')," \
	" account AS " kept " (SELECT user_id, min(username) AS username" \
	" FROM " users " WHERE type = 'user' AND user_id IS NOT NULL GROUP BY user_id)," \
	" leaving AS MATERIALIZED (SELECT user_id FROM (" USERS_BEING_DELETED_SQL ") AS d)," \
	" renaming AS MATERIALIZED (SELECT user_id FROM (" USERS_BEING_RENAMED_SQL ") AS r)," \
	" ends AS " kept " (SELECT f.id, f.user_id, f.creation_date, e.*, a.username," \
	" e.end_id IS NOT NULL AND a.user_id IS NULL AS nobodys" \
	" FROM follow AS f CROSS JOIN LATERAL (VALUES" \
	" (true, 'user_id', f.user_id, 'username', 'user_username', f.user_username)," \
	" (false, 'followed_id', f.followed_id, 'followed_username', 'followed_username'," \
	" f.followed_username)) AS e (own, id_property, end_id, problem, property, end_name)" \
	" LEFT JOIN account AS a ON a.user_id = e.end_id" \
	" WHERE NOT EXISTS (SELECT FROM leaving AS l WHERE l.user_id IN (f.user_id, f.followed_id)))" \
	\
	" SELECT 'users', m.problem, 'follow', i.id, NULL::uuid, i.user_id, m.expected," \
	" m.actual, i.creation_date FROM ends AS i CROSS JOIN LATERAL (VALUES" \
	" ('orphan', 'a user', NULL, i.nobodys, false)," \
	" (i.problem, i.username, i.end_name, i.username IS NOT NULL" \
	" AND i.end_name COLLATE \"C\" IS DISTINCT FROM i.username, i.end_name IS NOT NULL)," \
	" ('invalid', 'not null', i.property," \
	" i.end_name IS NULL AND i.username IS NULL AND NOT i.nobodys, false)," \
	" ('invalid', 'not null', i.id_property, i.end_id IS NULL, false)," \
	" ('invalid', 'not null', 'id', i.own AND i.id IS NULL, false)," \
	" ('invalid', 'not null', 'creation_date', i.own AND i.creation_date IS NULL, false))" \
	" AS m (problem, expected, actual, wrong, renamed) WHERE m.wrong AND (NOT m.renamed" \
	" OR NOT EXISTS (SELECT FROM renaming AS r WHERE r.user_id IS NULL OR r.user_id = i.end_id))"

/*
 * The parts of verify()'s statements that are not the same on one machine and
 * on a cluster.
 */
typedef struct VerifySource
{
	const char *users;
	KeptPlan   *names;			/* the statement VERIFY_NAMES_SQL(users) */
	KeptPlan   *registry;		/* the statement
								 * VERIFY_REGISTRY_SQL(registry) */
	KeptPlan   *follows;		/* the statement VERIFY_FOLLOWS_SQL(users) */

	/*
	 * Two CTEs: "recounted" (see RECOUNTED_SQL), and "tally", with one row for
	 * each post that has comments, likes or deltas. The query of "tally" may
	 * read the CTE "account", which has all users. The columns of "tally":
	 *
	 * post_id
	 * comment_delta, like_delta: the sums of the post's own deltas
	 * comments, likes: how many comments and likes are on the post; NULL means
	 * none
	 * odd: whether a comment, like or delta on the post may be wrong, so that
	 *     verify() has to check them one by one
	 */
	const char *tally;
	const char *feed;			/* query for the feed rows of all nodes, each
								 * with the number of its node */
	const char *nodes;			/* query for the numbers of all nodes that have
								 * a feed */
	int			tables;			/* the tables that verify_sql reads, a
								 * combination of ON_... flags */
	Datum		argument;		/* the jsonb to pass as $6 to verify_sql */

	/*
	 * Compare topics and the table publish_queue with posts, and return the
	 * findings, as own_posts_compare() does.
	 */
	List	   *(*derived) (void);
} VerifySource;

/*
 * Whether verify() can tell errors in the views from changes that the worker
 * has yet to apply.
 */
typedef enum ViewsKnown
{
	VIEWS_NOT_ASKED,			/* views_look_end() has not been called yet */
	VIEWS_SETTLED,				/* verify() can tell errors in the views from
								 * changes that are yet to be applied */
	VIEWS_UNSETTLED				/* verify() cannot tell, and returns no
								 * findings about the views */
} ViewsKnown;

/*
 * State of one comparison of the views with the posts (verify_settled.c).
 *
 * entry, pid: the worker that ran when the comparison began
 * applied: the worker numbers the rounds of its main loop. When the comparison
 *     began, the views showed the changes of all rounds up to this number.
 */
typedef struct ViewsLook
{
	WorkerEntry *entry;
	int			pid;
	uint64		applied;
	ViewsKnown	known;

	/*
	 * On a cluster: up to which iteration the worker of each node has
	 * refreshed the views, as the text of a jsonb. NULL on a server that is
	 * not part of a cluster.
	 */
	char	   *nodes;

	/*
	 * On a cluster: sorted ids of posts of which a worker may have changes yet
	 * to apply. verify() reports no findings about these posts. The array
	 * contains the id of all zeros if a post may have entered or left the
	 * feed.
	 */
	Datum	   *unsettled;
	int			n_unsettled;
} ViewsLook;

/* verify_settled.c */
extern bool views_look_begin(ViewsLook *look);
extern bool views_fit_settings(void);
extern bool views_look_end(ViewsLook *look, List *results);
extern bool views_look_here(ViewsLook *look);
extern void views_note_turn(ViewsLook *look);
extern bool views_await_turn(const ViewsLook *look);
extern bool views_are_sent(const ViewsLook *look);

/* verify_tally.c */
extern const char verify_tally_sql[];

/* verify_topics.c */
extern SPITupleTable *topics_compare(void);

/* verify_own_posts.c */
extern char *own_posts_sql(int *tables);

/* verify_queue.c */
extern SPITupleTable *queue_compare(void);

/* verify.c */
extern List *own_posts_compare(void);

#endif							/* BLOGSTORE_VERIFY_H */
