/*
 * requests.h
 *		What folders above share with requests: queries as scans of items, for who
 *		runs them without a function call; and checks for import.
 */
#ifndef BLOGSTORE_REQUESTS_H
#define BLOGSTORE_REQUESTS_H

#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "model/reply_parents.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_stats.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/rows/rows.h"

#include "access/tupdesc.h"
#include "fmgr.h"
#include "utils/snapshot.h"

/*
 * The longest title or content, in bytes. An item's document has two of them, is
 * one value of less than 1 GB, and may need seven bytes for one (a control
 * character as COPY writes it: \\u0001); as jsonb it is of less than 256 MB.
 */
#define MAX_TEXT_MB 64
#define MAX_TEXT_BYTES (MAX_TEXT_MB * 1024 * 1024)

/* A page of a list, as the caller asked for it. */
typedef struct ListPage
{
	int64		size;			/* -1: all */
	Cursor		before;			/* where valid: items beyond it, in the order */
	bool		oldest_first;
} ListPage;

#define ALL_PROPERTIES (~UINT32_C(0))

struct RequestScan;

/* A query: its function, how its items are found, and what a plan has to know of it. */
typedef struct RequestQuery
{
	const char *name;			/* of the function, in SQL */
	PGFunction	function;
	void		(*begin) (struct RequestScan *scan, FunctionCallInfo fcinfo);
	Request		request;
	ItemType	type;			/* of all items that it finds */
	const char *containers;		/* that it reads */
	bool		view;			/* is one of them a view? */
	bool		by_ids;			/* is its last argument a list of ids? */
	int			page_size_arg;	/* which argument is page_size, from 1 on; 0: none */
} RequestQuery;

#define MAX_QUERY_ARGS 7

/*
 * What a query finds, item by item. First come those of one leaf, then those of
 * a list over all partitions, if there is one to come.
 */
typedef struct RequestScan
{
	/* set by who begins it */
	TupleDesc	desc;			/* of rows; NULL: row_type tells */
	Oid			row_type;
	MemoryContext row_context;	/* of an item's values that are made for it */
	uint32		wanted;			/* properties that the caller takes, a bit each */
	bool		include_hidden;	/* set by the query */
	/* set by the query */
	const RequestQuery *query;
	RequestStart cost;
	const DeletedUsers *deleted;	/* whose items are not to be in it */
	ListPage	page;			/* where it has come to */
	int64		left;			/* items that may follow; -1: any number */
	bool		single;			/* found by its own key */
	bool		goes_on;		/* after the leaf, in all partitions */
	bool		out_of_view;	/* the view does not hold where it begins */
	AccessPath	path;			/* in all partitions */
	pg_uuid_t	key[2];			/* of the leaf's index, or each partition's */
	Datum		key_value[2];
	int			nkeys;
	Cursor		begins;			/* where it has begun */
	Container	container;		/* of the leaf */
	ItemScan   *items;			/* of it; NULL: none, or no more */
	PostList   *list;
	struct IdList *ids;			/* items are read by these; NULL: are not */
	struct UserList *of_user;	/* all items are; NULL: it is another query's */
	struct RemoteItems *remote;	/* they come from other nodes; NULL: from this one */
	Parents    *parents;		/* that were looked up; NULL: none */
	Snapshot	newer;			/* active from begin to end; NULL: the caller's serves */
} RequestScan;

#define N_QUERIES 14

/* all_queries.c: all of them. A plan has their numbers. */
extern const RequestQuery *const request_queries[N_QUERIES];

/* query_run.c: from a query to its items */
extern void request_scan_begin(RequestScan *scan, const RequestQuery *query,
							   FunctionCallInfo fcinfo);
extern bool request_scan_next(RequestScan *scan, BlogItem *item);
extern void request_scan_end(RequestScan *scan);

/* id_list.c: what a query by a list of ids has read, to be told to people */
extern int	request_scan_leaves(const RequestScan *scan, Oid *leaf, Oid *index);

/* argument_checks.c */
/*
 * Does the request give this node's part of an answer that all nodes of a cluster give
 * together? cluster/remote/ sets it while it serves such a request.
 */
extern bool request_is_part;

extern void request_begin(OwnerScope *scope, const char *command);
extern COMPAT_NORETURN void text_too_long(const char *name);

#endif							/* BLOGSTORE_REQUESTS_H */
