/*
 * remote.h
 *		Running requests on the node of a cluster that has their items.
 *
 *		this node:		remote_request.c, gather_from_nodes.c
 *						->  SELECT * FROM serve_post(...), for example
 *		Citus:			routes the call to the node that has the key's shard
 *		other node:		serve_request.c  ->  the request's own function
 *
 * On a server without Citus none of this runs.
 */
#ifndef BLOGSTORE_REMOTE_H
#define BLOGSTORE_REMOTE_H

#include "cluster/citus/citus.h"
#include "requests/requests.h"
#include "storage/blog_item.h"

#include "access/htup.h"
#include "access/tupdesc.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "utils/uuid.h"

typedef struct RemoteItems RemoteItems;

/* await_distribution.c */
extern void remote_settle(bool write);

/* remote_request.c */
extern Datum remote_command(FunctionCallInfo fcinfo, PGFunction here);
extern bool remote_call_flag(const char *name, const pg_uuid_t *key,
							 Oid type, Datum argument);
extern RemoteItems *remote_posts(const pg_uuid_t *key, Datum ids);
extern void remote_pause(long *waited);

/* request_names.c */
extern Oid	remote_row_type(ItemType type);
extern Datum remote_row_of_item(const BlogItem *item, ItemType type,
								TupleDesc desc);
extern void remote_item_of_row(BlogItem *item, ItemType type, TupleDesc desc,
							   HeapTuple row);

/* gather_from_nodes.c */
extern void remote_call_all(const char *name, const Oid *types,
							FunctionCallInfo fcinfo, bool writes, bool *all);
extern List *remote_groups(void);

/* a call of a function on a given node (call_on_node.c) */
typedef struct GroupCall
{
	const char *name;
	int			nargs;
	const Oid  *types;
	NullableDatum *args;
} GroupCall;

extern RemoteItems *remote_group_items(int group, ItemType type,
									   const GroupCall *call);
extern bool remote_group_flag(int group, const GroupCall *call);

/* remote_query.c */
extern void remote_begin_query(RequestScan *scan, FunctionCallInfo fcinfo);

/* view_pages.c */
extern bool remote_find_post_of_user(const pg_uuid_t *user_id, const pg_uuid_t *id,
									 TimestampTz from, const Cursor *end,
									 TimestampTz *date);

/* source_sent_items.c */
extern bool remote_items_next(RemoteItems *items, BlogItem *item);

#endif							/* BLOGSTORE_REMOTE_H */
