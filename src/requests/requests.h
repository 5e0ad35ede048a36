/*
 * requests.h
 *		Declarations of the requests for other folders. Requests are the SQL
 *		functions that clients call.
 *
 * A request is a command, which changes items, or a query, which returns
 * items. A plan node for a query reads the items without calling the SQL
 * function.
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
 * The longest title or content, in bytes. The JSON document of an item can
 * contain two such texts. The document must stay below 1 GB as text and below
 * 256 MB as jsonb. COPY writes a control character as \\u0001, so one byte can
 * take seven bytes.
 */
#define MAX_TEXT_MB 64
#define MAX_TEXT_BYTES (MAX_TEXT_MB * 1024 * 1024)

/*
 * The longest title, in characters. Titles are short because lists of posts
 * contain them in full.
 */
#define MAX_TITLE_LENGTH 1000

typedef struct ListPage
{
	int64		size;			/* maximum number of items to return; -1 for no
								 * limit */
	Cursor		before;			/* position (before_date, before_id) after
								 * which the page begins; if before.valid is
								 * false, the page begins with the list's
								 * first item */
	bool		oldest_first;
} ListPage;

#define ALL_PROPERTIES (~UINT32_C(0))

struct RequestScan;

/* A query. QUERY_FUNCTION() defines the RequestQuery of each query. */
typedef struct RequestQuery
{
	const char *name;
	PGFunction	function;
	void		(*begin) (struct RequestScan *scan, FunctionCallInfo fcinfo);
	Request		request;
	ItemType	type;
	const char *containers;		/* which containers the query can read, for
								 * EXPLAIN */
	bool		view;			/* whether the query can read from a view: the
								 * copies of posts in users, or the feed */
	bool		by_ids;			/* whether the last argument is an array of
								 * ids */
	int			page_size_arg;	/* number of the argument page_size, counted
								 * from 1; 0 if there is no such argument */
} RequestQuery;

#define MAX_QUERY_ARGS 8

/* What a source has read so far, for EXPLAIN. */
typedef struct SourceReads
{
	int			leaves;			/* number of leaves that were read one after
								 * another; 0 if all_partitions is true */
	Container	container;
	Oid			leaf;			/* OID of the leaf that was read last;
								 * InvalidOid if the source has closed this
								 * leaf */
	Oid			index;			/* OID of the index by which the last leaf was
								 * read */
	bool		all_partitions; /* whether the source reads all partitions of
								 * "container", and merges their rows */
} SourceReads;

/*
 * The callbacks of a source. A query chooses its source by calling a function
 * in the source's file (source_*.c). The function sets RequestScan.source and
 * RequestScan.state.
 */
typedef struct ItemSource
{
	/*
	 * Read the next item that the client may see. The values in *item are
	 * valid until the next call. Returns false after the last item. The caller
	 * then makes no further call.
	 */
	bool		(*next) (struct RequestScan *scan, BlogItem *item);
	/*
	 * Set *reads, which the caller has zeroed, to what the source has read.
	 * NULL in sources that get their items from other nodes of a cluster.
	 */
	void		(*explain) (const struct RequestScan *scan, SourceReads *reads);
	/*
	 * Stop reading, and free scan->state. Called even if the caller has not
	 * read all items.
	 */
	void		(*close) (struct RequestScan *scan);
} ItemSource;

typedef struct RequestScan
{
	/* fields set by the caller of request_scan_begin() */
	TupleDesc	desc;			/* row type of the result; NULL: the row type's
								 * OID is in row_type */
	Oid			row_type;
	MemoryContext row_context;	/* memory context for the values of one item */
	uint32		wanted;			/* the item fields that the caller needs, one
								 * bit for each Property */
	RequestStart cost;
	/* fields set by request_scan_begin() and by the query */
	const RequestQuery *query;
	const DeletedUsers *deleted;	/* users who are being deleted; their items
									 * are not returned */
	ListPage	page;
	bool		include_hidden;
	const ItemSource *source;	/* where the query reads its items; NULL if it
								 * returns none */
	void	   *state;
	bool		out_of_view;	/* true: the page begins with posts older than
								 * those of the feed, so the page is read from
								 * the posts container */
	int64		left;			/* how many items may still be returned; -1 for
								 * no limit */
	ParentCache *parents;		/* cache of the parents of replies; NULL while
								 * it is empty */
	ItemScan   *deltas;			/* a scan of the deltas of comments; NULL
								 * before the first comment */
	Snapshot	newer;			/* a snapshot newer than the caller's, with
								 * which the query reads; NULL: the query reads
								 * with the caller's snapshot */
} RequestScan;

/*
 * The index of each query in request_queries[]. Plan nodes store this index.
 */
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

/* request_scan.c */
extern void request_scan_begin(RequestScan *scan, const RequestQuery *query,
							   FunctionCallInfo fcinfo);
extern bool request_scan_next(RequestScan *scan, BlogItem *item);
extern void request_scan_end(RequestScan *scan);
extern void request_scan_renew_snapshot(RequestScan *scan);

/*
 * Whether this process runs a part of a request for another node of the
 * cluster. A query then returns only items that are stored on this node. The
 * other node collects the items of all nodes.
 */
extern bool request_is_part;

extern void request_begin(OwnerScope *scope, const char *command);
extern COMPAT_NORETURN void text_too_long(const char *name);
extern bool title_may_fit(int64 bytes);
extern bool title_fits(Datum title);

#endif							/* BLOGSTORE_REQUESTS_H */
