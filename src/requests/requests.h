/*
 * requests.h
 *		What other folders use of the requests: running a query as a scan,
 *		without a function call, and limits that import shares.
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
 * The longest title or content, in bytes. An item's document contains two of
 * them. It must be smaller than 1 GB as text, where one byte can need seven (a
 * control character as COPY writes it: \\u0001), and smaller than 256 MB as
 * jsonb.
 */
#define MAX_TEXT_MB 64
#define MAX_TEXT_BYTES (MAX_TEXT_MB * 1024 * 1024)

/* The longest title, in characters. Lists contain whole titles. */
#define MAX_TITLE_LENGTH 1000

/* The page of a list that the caller has asked for. */
typedef struct ListPage
{
	int64		size;			/* -1: all items */
	Cursor		before;			/* if valid: the page begins after this
								 * place */
	bool		oldest_first;
} ListPage;

#define ALL_PROPERTIES (~UINT32_C(0))

struct RequestScan;

/*
 * A query: its function, how to begin it, and what a plan needs to know of it.
 */
typedef struct RequestQuery
{
	const char *name;			/* of the SQL function */
	PGFunction	function;
	void		(*begin) (struct RequestScan *scan, FunctionCallInfo fcinfo);
	Request		request;
	ItemType	type;			/* of all items that it returns */
	const char *containers;		/* that it reads, for EXPLAIN */
	bool		view;			/* is one of the containers a view? */
	bool		by_ids;			/* is the last argument a list of ids? */
	int			page_size_arg;	/* number of the argument page_size, counted
								 * from 1; 0: none */
} RequestQuery;

#define MAX_QUERY_ARGS 7

/* What a source has read so far, for EXPLAIN. */
typedef struct SourceReads
{
	int			leaves;			/* visited one after another */
	Container	container;		/* of the last of them */
	Oid			leaf;			/* the last of them; InvalidOid: not known any
								 * more */
	Oid			index;			/* the index of that leaf */
	bool		all_partitions; /* all partitions of posts are read side by
								 * side */
} SourceReads;

/*
 * A source reads the items of a query. Each source has a file of its own, with
 * a struct for its state and a function that a query calls to begin reading.
 * That function sets source and state of the scan.
 */
typedef struct ItemSource
{
	/*
	 * Read the next item that the caller may see. Its values hold until the
	 * next call. Returns false at the end, and is not called again then.
	 */
	bool		(*next) (struct RequestScan *scan, BlogItem *item);
	/*
	 * Report what was read. *reads is all zeros before. NULL: this node reads
	 * nothing.
	 */
	void		(*explain) (const struct RequestScan *scan, SourceReads *reads);
	/* Stop reading, at the end or before, and free the state. */
	void		(*close) (struct RequestScan *scan);
} ItemSource;

/* A running query, which returns its items one by one. */
typedef struct RequestScan
{
	/* set by the caller of request_scan_begin() */
	TupleDesc	desc;			/* row type of the result; NULL: use
								 * row_type */
	Oid			row_type;
	MemoryContext row_context;	/* for values made for one item */
	uint32		wanted;			/* properties that the caller reads, one bit
								 * each */
	RequestStart cost;
	/* set by the query */
	const RequestQuery *query;
	const DeletedUsers *deleted;	/* users whose items must not be
									 * returned */
	ListPage	page;			/* size -1: all items */
	bool		include_hidden;
	const ItemSource *source;	/* NULL: nothing to read */
	void	   *state;			/* of the source */
	bool		out_of_view;	/* the page begins outside of the view */
	int64		left;			/* items that may follow; -1: any number */
	ParentCache *parents;		/* of replies that the query has returned;
								 * NULL: none were looked up */
	Snapshot	newer;			/* active while the query reads; NULL: use the
								 * caller's snapshot */
} RequestScan;

/* The numbers of the queries, which plans store. */
enum
{
#define COMMAND(constant, code, name)
#define QUERY(constant, code, name) NUMBER_OF_##name,
#include "requests/request_list.h"
#undef COMMAND
#undef QUERY
	N_QUERIES
};

/* all_queries.c: the queries by number */
extern const RequestQuery *const request_queries[N_QUERIES];

/* request_scan.c: running a query */
extern void request_scan_begin(RequestScan *scan, const RequestQuery *query,
							   FunctionCallInfo fcinfo);
extern bool request_scan_next(RequestScan *scan, BlogItem *item);
extern void request_scan_end(RequestScan *scan);
extern void request_scan_renew_snapshot(RequestScan *scan);

/* argument_checks.c: checks that import shares */
/*
 * Does the request return only this node's part of a result that is gathered
 * from all nodes of a cluster? cluster/remote/ sets this while it serves such
 * a request.
 */
extern bool request_is_part;

extern void request_begin(OwnerScope *scope, const char *command);
extern COMPAT_NORETURN void text_too_long(const char *name);
extern bool title_may_fit(int64 bytes);
extern bool title_fits(Datum title);

#endif							/* BLOGSTORE_REQUESTS_H */
