/*
 * requests.h
 *		What other folders need of the requests, which are the SQL functions
 *		that clients call: running a query without its SQL function, and limits
 *		of texts.
 *
 * A request is a command, which changes items, or a query, which returns
 * items.
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
 * The longest title or content, in bytes.
 *
 * An item's JSON document can contain two such texts. It must be smaller than
 * 1 GB as text, where one byte can take seven (COPY writes a control character
 * as \\u0001), and smaller than 256 MB as jsonb.
 */
#define MAX_TEXT_MB 64
#define MAX_TEXT_BYTES (MAX_TEXT_MB * 1024 * 1024)

/*
 * The longest title, in characters. It is short, because lists of posts
 * contain whole titles.
 */
#define MAX_TITLE_LENGTH 1000

/* The page of a list that a client has requested. */
typedef struct ListPage
{
	int64		size;			/* how many items the page has at most; -1: no
								 * limit */
	Cursor		before;			/* if valid: the page begins after this
								 * position */
	bool		oldest_first;
} ListPage;

#define ALL_PROPERTIES (~UINT32_C(0))

struct RequestScan;

/* The description of a query. QUERY_FUNCTION() defines one for each query. */
typedef struct RequestQuery
{
	const char *name;			/* name of the SQL function */
	PGFunction	function;
	void		(*begin) (struct RequestScan *scan, FunctionCallInfo fcinfo);
	Request		request;
	ItemType	type;			/* type of the items that the query returns */
	const char *containers;		/* names of the containers that the query
								 * reads, for EXPLAIN */
	bool		view;			/* can the query read the copies in users or
								 * the feed, which the worker maintains? */
	bool		by_ids;			/* is the last argument a list of ids? */
	int			page_size_arg;	/* number of the argument page_size, counted
								 * from 1; 0: none */
} RequestQuery;

#define MAX_QUERY_ARGS 7

/*
 * What a source of items has read so far, for EXPLAIN. A leaf is a partition's
 * table for one type of items.
 */
typedef struct SourceReads
{
	int			leaves;			/* number of leaves that were visited one after
								 * another */
	Container	container;		/* container of the last leaf */
	Oid			leaf;			/* OID of the last leaf; InvalidOid: not known
								 * any more */
	Oid			index;			/* OID of the index by which the last leaf was
								 * read */
	bool		all_partitions; /* does the source read all partitions of posts
								 * at the same time? */
} SourceReads;

/*
 * The functions of a source, which reads the items of a query. Each source has
 * a file of its own (source_*.c), with a struct for its state and a function
 * that a query calls to begin reading. That function sets the members source
 * and state of the scan.
 */
typedef struct ItemSource
{
	/*
	 * Read the next item that the caller may see. The values in *item are
	 * valid until the next call. Returns false at the end, and is not called
	 * again after that.
	 */
	bool		(*next) (struct RequestScan *scan, BlogItem *item);
	/*
	 * Set *reads to what was read. The caller has set all its members to zero.
	 * NULL if this node of a cluster reads nothing.
	 */
	void		(*explain) (const struct RequestScan *scan, SourceReads *reads);
	/*
	 * Stop reading, and free the state. The source need not have reached its
	 * end.
	 */
	void		(*close) (struct RequestScan *scan);
} ItemSource;

/* A running query, which returns its items one by one. */
typedef struct RequestScan
{
	/* these members are set by the caller of request_scan_begin() */
	TupleDesc	desc;			/* row type of the result; NULL: row_type has
								 * its OID */
	Oid			row_type;
	MemoryContext row_context;	/* memory for values that are made for one
								 * item */
	uint32		wanted;			/* the properties that the caller reads, one
								 * bit for each Property */
	RequestStart cost;
	/* these members are set by request_scan_begin() and the query */
	const RequestQuery *query;
	const DeletedUsers *deleted;	/* users who are being deleted, whose items
									 * must not be returned */
	ListPage	page;
	bool		include_hidden;
	const ItemSource *source;	/* where the items come from; NULL: there are
								 * none */
	void	   *state;			/* the source's own struct */
	bool		out_of_view;	/* does the page begin with posts that are
								 * older than those in the feed? */
	int64		left;			/* how many items may still be returned; -1:
								 * any number */
	ParentCache *parents;		/* parents of returned replies; NULL: none were
								 * looked up */
	Snapshot	newer;			/* a snapshot that the query reads with; NULL:
								 * it reads with the caller's snapshot */
} RequestScan;

/* The number of each query, by which plan nodes refer to it. */
enum
{
#define COMMAND(constant, code, name)
#define QUERY(constant, code, name) NUMBER_OF_##name,
#include "requests/request_list.h"
#undef COMMAND
#undef QUERY
	N_QUERIES
};

extern const RequestQuery *const request_queries[N_QUERIES];

/* request_scan.c: running a query */
extern void request_scan_begin(RequestScan *scan, const RequestQuery *query,
							   FunctionCallInfo fcinfo);
extern bool request_scan_next(RequestScan *scan, BlogItem *item);
extern void request_scan_end(RequestScan *scan);
extern void request_scan_renew_snapshot(RequestScan *scan);

/*
 * argument_checks.c: is this process serving a request for another node of the
 * cluster, which gathers a result from all nodes? If so, the request returns
 * only the items of this node. cluster/remote/ sets the variable while it
 * serves such a request.
 */
extern bool request_is_part;

extern void request_begin(OwnerScope *scope, const char *command);
extern COMPAT_NORETURN void text_too_long(const char *name);
extern bool title_may_fit(int64 bytes);
extern bool title_fits(Datum title);

#endif							/* BLOGSTORE_REQUESTS_H */
