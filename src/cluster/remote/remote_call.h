/*
 * remote_call.h
 *		Declarations for the files of cluster/remote/ only.
 */
#ifndef BLOGSTORE_REMOTE_CALL_H
#define BLOGSTORE_REMOTE_CALL_H

#include "base/compat.h"
#include "cluster/remote/remote.h"

#include "access/htup.h"
#include "access/tupdesc.h"

/* Rows that another node has returned. */
typedef struct RemoteRows
{
	TupleDesc	desc;
	int			n;
	HeapTuple  *row;
} RemoteRows;

struct RemoteItems
{
	ItemType	type;
	RemoteRows	rows;
	int			next;
};

/* A request, or a part of one, that is run on another node. */
typedef struct RemoteCall
{
	/*
	 * The SQL function that runs the request there. Each type of result has
	 * one, such as serve_post().
	 */
	const char *serve;

	const char *name;			/* the request's own function */
	pg_uuid_t	key;			/* the node with this key's shard runs it */

	/* True if this is one of several parts of a request, one for each node. */
	bool		part;

	/* True if the request only reads, and only items of the key. */
	bool		reads;

	int			nargs;
	const Oid  *types;
	NullableDatum *args;
} RemoteCall;

/* What the catalogs say about the function of a command. */
typedef struct Command
{
	Oid			function;
	NameData	name;
	int			key;			/* which argument is post_id; -1 if none is */

	/*
	 * The name of the SQL function that runs the command when it is called on
	 * another node. NULL if the command's result has a type that no such
	 * function returns.
	 */
	const char *serve;

	int			nargs;
	Oid			types[FUNC_MAX_ARGS];
} Command;

/* await_distribution.c */
extern void remote_renew_snapshot(RequestScan *scan);
extern void remote_renew_snapshot_of(RequestScan *scan, const Shard *shard);
extern void remote_require_snapshot(const Shard *shard);

/* remote_request.c */
extern bool remote_begin_snapshot(void);

/* source_sent_items.c */
extern void query_sent_items(RequestScan *scan, RemoteItems *items);

/* view_pages.c */
extern void remote_begin_feed(RequestScan *scan, FunctionCallInfo fcinfo);

/* gather_from_nodes.c */
extern RemoteItems *remote_gather(const char *name, ItemType type,
								  FunctionCallInfo fcinfo);
extern bool remote_ask_group(int group, RemoteCall *call, RemoteRows *rows);

/* request_names.c */
extern const char *remote_serve_function(ItemType type);
extern bool remote_reads_copies(const char *name);
extern bool remote_is_of_all_nodes(const char *name);
extern Oid	remote_find_function(const char *name, int nargs, Oid *types);
extern void remote_command_of(Oid function, Command *command);

/* remote_request.c */
extern bool remote_ask_once(const RemoteCall *call, RemoteRows *rows);

/* remote_error.c */
extern COMPAT_NORETURN void remote_error_send(void);
extern COMPAT_NORETURN void remote_error_receive(void);

#endif							/* BLOGSTORE_REMOTE_CALL_H */
