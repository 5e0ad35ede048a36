/*
 * verify.h
 *		verify(): what its files share, and what it finds, for repair().
 */
#ifndef BLOGSTORE_VERIFY_H
#define BLOGSTORE_VERIFY_H

#include "model/user_changes/user_changes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/launcher/launcher.h"

/* Columns of the result; the first eight are those of verify(). */
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

/* A delta that says nothing may be left of a post that is gone. */
#define COUNTS_SQL \
	"(comment_count IS DISTINCT FROM 0 OR like_count IS DISTINCT FROM 0)"

/* What lies on a post. */
#define ON_POST_SQL \
	"(type IN ('comment', 'like') OR type = 'delta' AND " COUNTS_SQL ")"

/* Reads the names of a table's users, for keyed_names_begin(). */
#define VERIFY_NAMES_SQL(users) \
	"SELECT user_id, username, creation_date FROM " users \
	" WHERE type = 'user' AND user_id IS NOT NULL"

/* Compares a registry with KEYED_NAMES, both ways. What a user without a name had is kept. */
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
 * What the statements read, as parts of the main one in SQL. The parts may refer to $6, which
 * is argument.
 */
typedef struct VerifySource
{
	const char *users;			/* a table with the users' items */
	KeptPlan   *names;			/* VERIFY_NAMES_SQL on them */
	KeptPlan   *registry;		/* VERIFY_REGISTRY_SQL on the registry */
	/*
	 * A CTE, called tally: of each post its post_id, what its deltas add (comment_delta,
	 * like_delta), the comments and likes that it has, 0 or NULL where there are none, and
	 * whether something on it has to be looked at (odd). It may join account.
	 */
	const char *tally;
	const char *feed;			/* the rows of each feed, with the number of its node */
	const char *nodes;			/* the numbers of the nodes that have one */
	int			tables;			/* that the statement names, as in KeptPlan */
	Datum		argument;		/* a jsonb */
} VerifySource;

/* What is known of findings about the views. */
typedef enum ViewsKnown
{
	VIEWS_NOT_ASKED,			/* there was no such finding yet */
	VIEWS_SETTLED,				/* which of them are settled */
	VIEWS_UNSETTLED				/* none of them is */
} ViewsKnown;

/* A comparison of the views: the worker, and up to which of its turns all was applied. */
typedef struct ViewsLook
{
	WorkerEntry *entry;
	int			pid;
	uint64		applied;
	ViewsKnown	known;
	char	   *nodes;			/* on a cluster: the turns of all nodes, a jsonb as text */
	Datum	   *unsettled;		/* and which posts they have named, in order; zeros: lists have
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
