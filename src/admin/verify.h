/*
 * verify.h
 *		verify(): what its files share, and what it finds, for repair().
 */
#ifndef BLOGSTORE_VERIFY_H
#define BLOGSTORE_VERIFY_H

#include "storage/bookkeeping/bookkeeping.h"

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

/* verify_tally.c */
extern const char *verify_tally(void);

/* verify_feeds.c: on a cluster, the feed of each node, and which nodes those are; $6 has them */
#define VERIFY_NODES_SQL \
	"SELECT node FROM jsonb_to_recordset($6) AS n(node integer, rows jsonb)"
#define VERIFY_FEEDS_SQL \
	"jsonb_to_recordset($6) AS n(node integer, rows jsonb)" \
	" CROSS JOIN LATERAL jsonb_to_recordset(n.rows) AS f(id uuid, post_id uuid," \
	" user_id uuid, user_username text, title text, content text," \
	" comment_count bigint, like_count bigint, creation_date timestamptz," \
	" modification_date timestamptz, properties jsonb)"

extern Datum verify_feeds(void);
extern SPITupleTable *verify_run(uint64 *n, bool with_views);

#endif							/* BLOGSTORE_VERIFY_H */
