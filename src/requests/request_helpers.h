/*
 * request_helpers.h
 *		What the files of src/requests share: macros that define SQL functions,
 *		checks of arguments, and the sources from which queries read items.
 */
#ifndef BLOGSTORE_REQUEST_HELPERS_H
#define BLOGSTORE_REQUEST_HELPERS_H

#include "base/preload.h"
#include "model/user_changes/user_changes.h"
#include "requests/requests.h"
#include "requests/results/results.h"
#include "storage/layout/cluster_calls.h"

#include "funcapi.h"
#include "utils/array.h"

/*
 * Run the C function of a command, here or on the node of a cluster that
 * stores the command's post.
 */
static inline Datum
serve_command(FunctionCallInfo fcinfo, PGFunction function)
{
	const ClusterCalls *cluster;

	cluster_settle(true);
	cluster = cluster_calls();
	if (cluster != NULL)
		return cluster->serve_command(fcinfo, function);
	return function(fcinfo);
}

/*
 * Define blogstore_request_<name>(), the C function of a command. It counts
 * the request in the statistics, and calls <name>(), which the file must
 * define after this macro. On a cluster, <name>() runs on the node that stores
 * the command's post. Errors of the C function: 55000 if the library is not
 * preloaded.
 *
 * Before 1.0, these C functions were called blogstore_<name>(), and some had
 * other arguments. A database can still have the extension of such a version.
 * Because of the new names, a call of its SQL functions raises an error
 * instead of crashing the server.
 */
#define REQUEST_FUNCTION(name, request) \
	PG_FUNCTION_INFO_V1(blogstore_request_##name); \
	static Datum name(PG_FUNCTION_ARGS); \
	Datum \
	blogstore_request_##name(PG_FUNCTION_ARGS) \
	{ \
		RequestStart start; \
		Datum		result; \
	\
		need_preload(); \
		stats_begin(&start, request); \
		result = serve_command(fcinfo, name); \
		start.rows = 1; \
		stats_end(&start); \
		return result; \
	} \
	extern int	no_such_variable

/*
 * Define the C functions of two commands, <name>() and own_<name>().
 * own_<name>() has an additional first argument, the author, and changes only
 * items by this author. Both functions call <name>_of(), which the file must
 * define after this macro. <name>() passes NULL as the author, which accepts
 * any author.
 */
#define AUTHOR_REQUEST_FUNCTION(name, request) \
	REQUEST_FUNCTION(name, request); \
	REQUEST_FUNCTION(own_##name, request); \
	static Datum name##_of(FunctionCallInfo fcinfo, const pg_uuid_t *author); \
	static Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return name##_of(fcinfo, NULL); \
	} \
	static Datum \
	own_##name(PG_FUNCTION_ARGS) \
	{ \
		LOCAL_FCINFO(rest, FUNC_MAX_ARGS); \
		const pg_uuid_t *author = need_author(fcinfo, rest); \
	\
		return name##_of(rest, author); \
	} \
	extern int	no_such_variable

/*
 * Define blogstore_request_<name_>(), the C function of a query, and
 * query_<name_>, its RequestQuery. After this macro, the file must define
 * <name_>(), which begins the query (RequestQuery.begin). The variable
 * arguments initialize further fields of the RequestQuery. Errors of the C
 * function: 55000 if the library is not preloaded.
 */
#define QUERY_FUNCTION(name_, request_, type_, ...) \
	PG_FUNCTION_INFO_V1(blogstore_request_##name_); \
	static void name_(RequestScan *scan, FunctionCallInfo fcinfo); \
	const RequestQuery query_##name_ = { \
		.name = #name_, .function = blogstore_request_##name_, .begin = name_, \
		.request = request_, .type = type_, __VA_ARGS__ \
	}; \
	Datum \
	blogstore_request_##name_(PG_FUNCTION_ARGS) \
	{ \
		need_preload(); \
		return query_return_set(fcinfo, &query_##name_); \
	} \
	extern int	no_such_variable

#define COMMAND(constant, code, name)
#define QUERY(constant, code, name) extern const RequestQuery query_##name;
#include "requests/request_list.h"
#undef COMMAND
#undef QUERY

/* argument_checks.c */
extern const pg_uuid_t *need_uuid(FunctionCallInfo fcinfo, int arg,
								  const char *name);
extern ArrayType *need_uuids(FunctionCallInfo fcinfo, int arg,
							 const char *name);
extern Datum need_text(FunctionCallInfo fcinfo, int arg, const char *name);
extern Datum need_title(FunctionCallInfo fcinfo, int arg);
extern Datum need_username(FunctionCallInfo fcinfo, int arg);
extern bool may_be_username(FunctionCallInfo fcinfo, int arg);
extern void check_not_empty(Datum value, const char *name);
extern void get_id(FunctionCallInfo fcinfo, int arg, pg_uuid_t *id);
extern TimestampTz get_creation_date(FunctionCallInfo fcinfo, int arg);
extern bool get_publish_date(FunctionCallInfo fcinfo, int arg,
							 TimestampTz *date);
extern bool get_flag(FunctionCallInfo fcinfo, int arg, const char *name);
extern void set_modified(BlogItem *item);
extern int64 get_page_size(FunctionCallInfo fcinfo, int arg);
extern void get_page(FunctionCallInfo fcinfo, int arg, ListPage *page);
extern bool find_conflicting(ItemType type, const pg_uuid_t *post_id,
							 const Datum *key, int nkeys, BlogItem *out);
extern bool find_conflicting_or_clear(ItemType type, const pg_uuid_t *post_id,
									  const Datum *key, int nkeys,
									  BlogItem *out);

/* posts.c */
extern void add_up_now(BlogItem *post);

/* author_check.c */
extern const pg_uuid_t *need_author(FunctionCallInfo fcinfo,
									FunctionCallInfo rest);
extern void check_author(ItemType type, const BlogItem *item,
						 const pg_uuid_t *author);
extern void check_new_author(ItemType type, const BlogItem *item,
							 const pg_uuid_t *author);

/* page_start.c */
extern void page_find(ListPage *page, ItemType type, const pg_uuid_t *of,
					  const pg_uuid_t *comment_id);
extern bool page_may_be_cut(const ListPage *page, Cursor *end);
extern void page_begin(ListPage *page, const Cursor *end, bool found,
					   TimestampTz date);

/*
 * Copies of the ids that a source passes to an index scan. They are the values
 * of the first columns of the index.
 */
typedef struct SourceKey
{
	int			n;
	pg_uuid_t	id[3];
	Datum		value[3];
} SourceKey;

static inline void
source_key_keep(SourceKey *key, const pg_uuid_t *const *id, int n)
{
	key->n = n;
	for (int i = 0; i < n; i++)
	{
		key->id[i] = *id[i];
		key->value[i] = UUIDPGetDatum(&key->id[i]);
	}
}

/* request_scan.c */
extern void query_ready(RequestScan *scan);

/*
 * Each of the following functions sets the source from which a query reads its
 * items. Each source has a file of its own; query_one() is in
 * source_one_item.c.
 */
extern void query_one(RequestScan *scan, Container container, ItemType type,
					  const pg_uuid_t *partition_key,
					  const pg_uuid_t *const *key, int n);

/* source_items_by_ids.c */
extern void query_ids(RequestScan *scan, Container container,
					  const pg_uuid_t *const *key, int n, ArrayType *array);

/* source_partition_list.c */
extern void query_list(RequestScan *scan, Container container, AccessPath path,
					   const pg_uuid_t *const *key, int n);
extern void query_on_post(RequestScan *scan, FunctionCallInfo fcinfo);

/* source_all_posts.c */
extern void query_posts(RequestScan *scan, const pg_uuid_t *user_id,
						const ListPage *page);

/* source_feed.c */
extern void query_feed(RequestScan *scan);
extern void query_feed_alone(RequestScan *scan);

/* source_topics.c, source_topic_posts.c */
extern void query_topics(RequestScan *scan, Datum prefix, Datum after);
extern void query_topic_posts(RequestScan *scan, Datum topic);

/* source_user_items.c */
extern void query_user_items_by_date(RequestScan *scan,
									 const pg_uuid_t *user_id, AccessPath path);
extern void query_user_likes_by_post(RequestScan *scan,
									 const pg_uuid_t *user_id,
									 const pg_uuid_t *post_id,
									 const pg_uuid_t *comment_id);

/* source_home_feed.c */
extern pg_uuid_t *followed_users(const DeletedUsers *deleted,
								 const pg_uuid_t *user_id, int *n);
extern void query_home_feed(RequestScan *scan, const pg_uuid_t *ids, int n,
							bool copies);

/* source_follows_by_ids.c */
extern void query_follows_by_ids(RequestScan *scan, const pg_uuid_t *user_id,
								 ArrayType *array);

/* source_comment_likes.c */
extern void query_comment_likes(RequestScan *scan, const pg_uuid_t *user_id,
								const pg_uuid_t *post_id);

static inline bool
query_wants(const RequestScan *scan, Property prop)
{
	return (scan->wanted >> prop) & 1;
}

/*
 * Return whether the caller of a query needs the counts of the returned posts.
 * If not, the posts' deltas need not be added up.
 */
static inline bool
query_wants_counts(const RequestScan *scan)
{
	return scan->query->type == ITEM_POST &&
		(query_wants(scan, PROP_COMMENT_COUNT) ||
		 query_wants(scan, PROP_LIKE_COUNT));
}

/*
 * Return whether the caller of a query needs the field parent_deleted of the
 * returned comments, which says that a reply's parent has been deleted. If
 * not, the parents need not be looked up.
 */
static inline bool
query_wants_parent_deleted(const RequestScan *scan)
{
	return scan->query->type == ITEM_COMMENT &&
		query_wants(scan, PROP_PARENT_DELETED);
}

/*
 * Return whether the caller of a query needs one of the counts of the returned
 * comments. If not, the comments' deltas need not be added up.
 */
static inline bool
query_wants_comment_counts(const RequestScan *scan)
{
	return scan->query->type == ITEM_COMMENT &&
		(query_wants(scan, PROP_REPLY_COUNT) ||
		 query_wants(scan, PROP_LIKE_COUNT));
}

extern bool query_shows(const RequestScan *scan, BlogItem *item);
extern void query_complete(RequestScan *scan, BlogItem *item);

/* result_set.c */
extern Datum query_return_set(FunctionCallInfo fcinfo,
							  const RequestQuery *query);

#endif							/* BLOGSTORE_REQUEST_HELPERS_H */
