/*
 * verify.h
 *		What the files of verify() share. verify() compares the tables, and its
 *		result has one row, a finding, for each discrepancy; repair() repairs
 *		what the findings are about.
 */
#ifndef BLOGSTORE_VERIFY_H
#define BLOGSTORE_VERIFY_H

#include "model/user_changes/user_changes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/launcher/launcher.h"

/* Columns of a finding. The result of verify() has the first eight. */
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
 * Deltas that count something. One that counts nothing may be left of a
 * deleted post and is no error.
 */
#define COUNTS_SQL \
	"(comment_count IS DISTINCT FROM 0 OR like_count IS DISTINCT FROM 0)"

/*
 * Items that belong to a post, so that it is an error if the post is missing.
 */
#define ON_POST_SQL \
	"(type IN ('comment', 'like') OR type = 'delta' AND " COUNTS_SQL ")"

/*
 * The query for keyed_names_begin(): the users in a table, with their names.
 */
#define VERIFY_NAMES_SQL(users) \
	"SELECT user_id, username, creation_date FROM " users \
	" WHERE type = 'user' AND user_id IS NOT NULL"

/*
 * Compares a registry of usernames with KEYED_NAMES, the relation of users and
 * the keys of their names, in both directions. The row of a user without a
 * name is not a finding.
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
 * The parts of verify()'s statements that differ between a single server and a
 * cluster. They may use $6, whose value is argument.
 */
typedef struct VerifySource
{
	const char *users;			/* name of the table that has the users */
	KeptPlan   *names;			/* plan of VERIFY_NAMES_SQL for that table */
	KeptPlan   *registry;		/* plan of VERIFY_REGISTRY_SQL for the registry
								 * of usernames */

	/*
	 * A CTE named tally with one row for each post. Its columns: post_id;
	 * comment_delta and like_delta, the sums of the post's deltas; comments
	 * and likes, the numbers of its items, where 0 and NULL mean none; and
	 * odd, whether items on the post have to be checked one by one. It may
	 * join the CTE account.
	 */
	const char *tally;
	const char *feed;			/* query for the rows of all nodes' feeds, with
								 * the number of the node */
	const char *nodes;			/* query for the numbers of the nodes that have
								 * a feed */
	int			tables;			/* the tables that the statement reads, as in
								 * KeptPlan */
	Datum		argument;		/* value of $6, a jsonb */
} VerifySource;

/*
 * What is known of the findings about the views: whether the worker still has
 * to apply changes to the rows in question, or the findings are settled.
 */
typedef enum ViewsKnown
{
	VIEWS_NOT_ASKED,			/* no finding about the views has come up
								 * yet */
	VIEWS_SETTLED,				/* it is known for each finding whether it is
								 * settled */
	VIEWS_UNSETTLED				/* it is not known, so no finding counts as
								 * settled */
} ViewsKnown;

/*
 * State of one comparison of the views: the worker that ran when it began, and
 * the turn (round of its main loop) up to which that had applied all changes.
 * verify_settled.c describes the protocol.
 */
typedef struct ViewsLook
{
	WorkerEntry *entry;
	int			pid;
	uint64		applied;
	ViewsKnown	known;

	/*
	 * On a cluster: for each node, the turn up to which its worker had applied
	 * all changes, as the text of a jsonb.
	 */
	char	   *nodes;

	/*
	 * On a cluster: ids of the posts whose findings are not settled, according
	 * to the nodes, sorted. The zero id says that lists of posts have changed.
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

/* verify.c */
extern List *verify_run(bool with_views);

#endif							/* BLOGSTORE_VERIFY_H */
