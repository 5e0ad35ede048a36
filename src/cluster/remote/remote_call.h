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

/* a call of serve_post(), or of a similar function, on another node */
typedef struct RemoteCall
{
	/*
	 * The SQL function that is called on the other node, for example
	 * serve_post() or serve_flag(). It depends on the type of the request's
	 * result.
	 */
	const char *serve;

	/* the request's function, for example "get_post" */
	const char *name;

	/* The call runs on the node that has this key's shard. */
	pg_uuid_t	key;

	/*
	 * True if every node runs a part of the request; false if only one node
	 * runs the request.
	 */
	bool		part;

	/*
	 * True if the request writes nothing, and reads only items that belong to
	 * the key.
	 */
	bool		reads;

	int			nargs;
	const Oid  *types;
	NullableDatum *args;
} RemoteCall;

/*
 * The SQL function of a command (a request that writes), such as
 * create_post(), with what the system catalogs say about it.
 * remote_command_of() looks it up and caches it.
 */
typedef struct Command
{
	Oid			function;
	NameData	name;
	int			key;			/* index of the argument whose value decides
								 * which node runs the command; -1 if there is
								 * none */

	/*
	 * The name of the SQL function that runs the command on another node, for
	 * example serve_post(). NULL if there is none for the command's result
	 * type.
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

/* home_feed_pages.c */
extern const RequestQuery query_home_feed_copies;
extern const RequestQuery query_home_feed_posts;
extern bool remote_is_home_part(const RequestQuery *query);
extern void remote_begin_home_feed(RequestScan *scan, FunctionCallInfo fcinfo);

/* gather_from_nodes.c */
extern RemoteItems *remote_gather(const char *name, ItemType type,
								  FunctionCallInfo fcinfo);
extern bool remote_ask_group(int group, RemoteCall *call, RemoteRows *rows);

/* request_names.c */
extern const char *remote_serve_function(ItemType type);
extern bool remote_reads_copies(const char *name, bool part);
extern int	remote_key_argument(const char *name);
extern bool remote_is_of_all_nodes(const char *name);
extern Oid	remote_find_function(const char *name, int nargs, Oid *types);
extern void remote_command_of(Oid function, Command *command);

/* remote_request.c */
extern bool remote_ask_once(const RemoteCall *call, RemoteRows *rows);
extern bool remote_copies_are_refused(const RemoteRows *rows);

/* remote_error.c */
extern COMPAT_NORETURN void remote_error_send(void);
extern COMPAT_NORETURN void remote_error_receive(void);

#endif							/* BLOGSTORE_REMOTE_CALL_H */
