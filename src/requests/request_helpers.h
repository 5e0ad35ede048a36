/*
 * request_helpers.h
 *		What the files of src/requests/ share: macros that define the SQL
 *		functions of requests, checks of arguments, and sources of items.
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
 * Define the SQL function of a command: blogstore_name() in the library. It
 * counts the request and calls name(), which must follow in the file. On a
 * cluster name() may run on another node. Errors: 55000 unless the library is
 * preloaded.
 */
#define REQUEST_FUNCTION(name, request) \
	PG_FUNCTION_INFO_V1(blogstore_##name); \
	static Datum name(PG_FUNCTION_ARGS); \
	Datum \
	blogstore_##name(PG_FUNCTION_ARGS) \
	{ \
		RequestStart start; \
		Datum		result; \
	\
		need_preload(); \
		stats_begin(&start); \
		result = serve_command(fcinfo, name); \
		stats_end(&start, request); \
		return result; \
	} \
	extern int	no_such_variable

/*
 * Define two SQL functions for one command, blogstore_name() and
 * blogstore_own_name(). The latter has an additional first argument, an
 * author. Both call name_of(), which must follow in the file.
 * blogstore_own_name() passes the author, and name_of() then accepts only an
 * item by this author. blogstore_name() passes NULL, and name_of() accepts
 * items by any author.
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
 * Define two things for a query: its set-returning SQL function, whose C
 * symbol is blogstore_<name_>, and its RequestQuery. The file must then define
 * the function <name_>(), which begins the query. The further macro arguments
 * initialize members of the RequestQuery. Errors: 55000 unless the library is
 * preloaded.
 */
#define QUERY_FUNCTION(name_, request_, type_, ...) \
	PG_FUNCTION_INFO_V1(blogstore_##name_); \
	static void name_(RequestScan *scan, FunctionCallInfo fcinfo); \
	const RequestQuery query_##name_ = { \
		.name = #name_, .function = blogstore_##name_, .begin = name_, \
		.request = request_, .type = type_, __VA_ARGS__ \
	}; \
	Datum \
	blogstore_##name_(PG_FUNCTION_ARGS) \
	{ \
		need_preload(); \
		return query_return_set(fcinfo, &query_##name_); \
	} \
	extern int	no_such_variable

/*
 * The RequestQuery of each query. users.c, posts.c, comments.c, likes.c,
 * feed.c and page_batches.c define them.
 */
#define COMMAND(constant, code, name)
#define QUERY(constant, code, name) extern const RequestQuery query_##name;
#include "requests/request_list.h"
#undef COMMAND
#undef QUERY

/* argument_checks.c: reading and checking arguments */
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
extern bool get_flag(FunctionCallInfo fcinfo, int arg, const char *name);
extern void set_modified(BlogItem *item);
extern void get_page(FunctionCallInfo fcinfo, int arg, ListPage *page);
extern bool find_conflicting(ItemType type, const pg_uuid_t *post_id,
							 const Datum *key, int nkeys, BlogItem *out);
extern bool find_conflicting_or_clear(ItemType type, const pg_uuid_t *post_id,
									  const Datum *key, int nkeys,
									  BlogItem *out);

/* posts.c: completing the counts of a locked post */
extern void add_up_now(BlogItem *post);

/* author_check.c: checking that an item is by a certain author */
extern const pg_uuid_t *need_author(FunctionCallInfo fcinfo,
									FunctionCallInfo rest);
extern void check_author(ItemType type, const BlogItem *item,
						 const pg_uuid_t *author);
extern void check_new_author(ItemType type, const BlogItem *item,
							 const pg_uuid_t *author);

/* page_start.c: finding where a page of a list begins */
extern void page_find(ListPage *page, ItemType type, const pg_uuid_t *of);
extern bool page_may_be_cut(const ListPage *page, Cursor *end);
extern void page_begin(ListPage *page, const Cursor *end, bool found,
					   TimestampTz date);

/*
 * The ids by which a source finds items: the values of the first columns of an
 * index. A source keeps a copy of them.
 */
typedef struct SourceKey
{
	int			n;
	pg_uuid_t	id[2];
	Datum		value[2];		/* pointers to the ids */
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

/* request_scan.c: called by each query after it has checked its arguments */
extern void query_ready(RequestScan *scan);

/*
 * The following functions set the source from which a scan returns its items.
 * Each comment names the file of the source.
 *
 * source_one_item.c
 */
extern void query_one(RequestScan *scan, Container container,
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

/* source_user_items.c */
extern void query_user_items_by_date(RequestScan *scan,
									 const pg_uuid_t *user_id, AccessPath path);
extern void query_user_likes_by_post(RequestScan *scan,
									 const pg_uuid_t *user_id,
									 const pg_uuid_t *post_id);

/*
 * Return whether the caller of a query reads a property of the returned items.
 */
static inline bool
query_wants(const RequestScan *scan, Property prop)
{
	return (scan->wanted >> prop) & 1;
}

/* Return whether the caller of the query reads the counts of posts. */
static inline bool
query_wants_counts(const RequestScan *scan)
{
	return scan->query->type == ITEM_POST &&
		(query_wants(scan, PROP_COMMENT_COUNT) ||
		 query_wants(scan, PROP_LIKE_COUNT));
}

/*
 * Return whether the caller of the query reads whether the parents of replies
 * are gone.
 */
static inline bool
query_wants_parent_deleted(const RequestScan *scan)
{
	return scan->query->type == ITEM_COMMENT &&
		query_wants(scan, PROP_PARENT_DELETED);
}

extern bool query_shows(const RequestScan *scan, BlogItem *item);
extern void query_set_parent_deleted(RequestScan *scan, BlogItem *comment);

/* result_set.c: running a query as a set-returning function */
extern Datum query_return_set(FunctionCallInfo fcinfo,
							  const RequestQuery *query);

#endif							/* BLOGSTORE_REQUEST_HELPERS_H */
