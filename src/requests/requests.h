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

/* What a title may take, in characters: lists have it whole. */
#define MAX_TITLE_LENGTH 1000

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

/* What a source has read of its items so far, for EXPLAIN. */
typedef struct SourceReads
{
	int			leaves;			/* that it has visited one after another */
	Container	container;		/* of the last of them */
	Oid			leaf;			/* which that is; InvalidOid: not known any more */
	Oid			index;			/* of that leaf */
	bool		all_partitions; /* of posts are read, side by side */
} SourceReads;

/*
 * A source: how the items of a query are read. Each source has a file. The file has the
 * struct that a scan keeps as the source's state, and a function that a query calls to begin
 * to read: the function sets source and state of the scan.
 */
typedef struct ItemSource
{
	/* Read the next item that the caller may see; its values hold until the next call. Return
	 * false if there are no more. The function is not called again then. */
	bool		(*next) (struct RequestScan *scan, BlogItem *item);
	/* Say what was read; *reads is zero before. NULL: nothing is read on this node. */
	void		(*explain) (const struct RequestScan *scan, SourceReads *reads);
	/* Close what is read, wherever it has come to, and free the state. */
	void		(*close) (struct RequestScan *scan);
} ItemSource;

/* A query as it runs: what it finds, item by item. */
typedef struct RequestScan
{
	/* set by the caller that begins it */
	TupleDesc	desc;			/* of rows; NULL: row_type tells */
	Oid			row_type;
	MemoryContext row_context;	/* of an item's values that are made for it */
	uint32		wanted;			/* properties that the caller takes, a bit each */
	RequestStart cost;
	/* set by the query */
	const RequestQuery *query;
	const DeletedUsers *deleted;	/* whose items are not to be in it */
	ListPage	page;			/* size -1: all items */
	bool		include_hidden;
	const ItemSource *source;	/* NULL: there is nothing to read */
	void	   *state;			/* the source's own */
	bool		out_of_view;	/* the view does not hold where the page begins */
	int64		left;			/* items that may follow; -1: any number */
	Parents    *parents;		/* that were looked up; NULL: none */
	Snapshot	newer;			/* active from begin to end; NULL: the caller's serves */
} RequestScan;

/* Their numbers, which plans have. */
enum
{
#define COMMAND(constant, code, name)
#define QUERY(constant, code, name) NUMBER_OF_##name,
#include "requests/request_list.h"
#undef COMMAND
#undef QUERY
	N_QUERIES
};

/* all_queries.c: all of them, by these numbers */
extern const RequestQuery *const request_queries[N_QUERIES];

/* request_scan.c: from a query to its items */
extern void request_scan_begin(RequestScan *scan, const RequestQuery *query,
							   FunctionCallInfo fcinfo);
extern bool request_scan_next(RequestScan *scan, BlogItem *item);
extern void request_scan_end(RequestScan *scan);
extern void request_scan_renew_snapshot(RequestScan *scan);

/* argument_checks.c */
/*
 * Does the request give this node's part of an answer that all nodes of a cluster give
 * together? cluster/remote/ sets it while it serves such a request.
 */
extern bool request_is_part;

extern void request_begin(OwnerScope *scope, const char *command);
extern COMPAT_NORETURN void text_too_long(const char *name);
extern bool title_may_fit(int64 bytes);
extern bool title_fits(Datum title);

#endif							/* BLOGSTORE_REQUESTS_H */
