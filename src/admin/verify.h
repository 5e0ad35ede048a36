/*
 * verify.h
 *		What the files of verify() share, and its findings, for repair().
 */
#ifndef BLOGSTORE_VERIFY_H
#define BLOGSTORE_VERIFY_H

#include "model/user_changes/user_changes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/launcher/launcher.h"

/*
 * Columns of the statements' results. The first eight are those of verify().
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

/* A delta without counts may be left of a deleted post. */
#define COUNTS_SQL \
	"(comment_count IS DISTINCT FROM 0 OR like_count IS DISTINCT FROM 0)"

/* Items that belong to a post. */
#define ON_POST_SQL \
	"(type IN ('comment', 'like') OR type = 'delta' AND " COUNTS_SQL ")"

/* The query for keyed_names_begin(): the names of the users in a table. */
#define VERIFY_NAMES_SQL(users) \
	"SELECT user_id, username, creation_date FROM " users \
	" WHERE type = 'user' AND user_id IS NOT NULL"

/*
 * Compares a registry with KEYED_NAMES in both directions. The row of a user
 * without a name is not a finding.
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
 * What the statements read, as parts of their SQL text. The parts may use $6,
 * whose value is argument.
 */
typedef struct VerifySource
{
	const char *users;			/* the table that holds user items */
	KeptPlan   *names;			/* VERIFY_NAMES_SQL for this table */
	KeptPlan   *registry;		/* VERIFY_REGISTRY_SQL for the registry */
	/*
	 * A CTE named tally, with one row for each post: post_id; comment_delta
	 * and like_delta, the sums of its deltas; comments and likes, the numbers
	 * of its items, where 0 and NULL mean none; and odd, whether items on it
	 * have to be checked one by one. It may join account.
	 */
	const char *tally;
	const char *feed;			/* the rows of each feed, with the number of
								 * its node */
	const char *nodes;			/* the numbers of the nodes that have a feed */
	int			tables;			/* tables that the statement uses, as in
								 * KeptPlan */
	Datum		argument;		/* of type jsonb */
} VerifySource;

/* Whether it is known which findings about the views are settled. */
typedef enum ViewsKnown
{
	VIEWS_NOT_ASKED,			/* no such finding has come up yet */
	VIEWS_SETTLED,				/* it is known for each of them */
	VIEWS_UNSETTLED				/* it is unknown, so none of them is settled */
} ViewsKnown;

/*
 * A comparison of the views: the worker, and the turn up to which it had
 * applied everything.
 */
typedef struct ViewsLook
{
	WorkerEntry *entry;
	int			pid;
	uint64		applied;
	ViewsKnown	known;
	char	   *nodes;			/* on a cluster: the turns of all nodes, as the
								 * text of a jsonb */
	Datum	   *unsettled;		/* on a cluster: posts that the nodes have
								 * named, sorted; the zero id: lists have
								 * changed */
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
