/*
 * request.h
 *		What all requests share, for this room alone: checks of arguments, and
 *		results.
 */
#ifndef BLOGSTORE_REQUEST_H
#define BLOGSTORE_REQUEST_H

#include "members/members.h"
#include "requests/requests.h"

#include "funcapi.h"
#include "portability/instr_time.h"

/* The requests, in the order of stat_requests. */
typedef enum Request
{
	REQUEST_CREATE_USER,
	REQUEST_EDIT_USER,
	REQUEST_GET_USER,
	REQUEST_GET_USER_BY_NAME,
	REQUEST_CREATE_POST,
	REQUEST_EDIT_POST,
	REQUEST_GET_POST,
	REQUEST_LIST_USER_POSTS,
	REQUEST_CREATE_COMMENT,
	REQUEST_LIST_POST_COMMENTS,
	REQUEST_CREATE_LIKE,
	REQUEST_LIST_POST_LIKES,
	REQUEST_LIST_FEED,
	REQUEST_EDIT_COMMENT,
	REQUEST_GET_LIKE,
	REQUEST_DELETE_LIKE,
	REQUEST_DELETE_COMMENT,
	REQUEST_DELETE_POST,
	REQUEST_DELETE_USER
} Request;

#define N_REQUESTS (REQUEST_DELETE_USER + 1)

/* stats.c: what requests have cost; what the counters stood at before one */
typedef struct RequestStart
{
	bool		counted;
	instr_time	time;
	int64		hit;
	int64		read;
	uint64		wal;
} RequestStart;

extern void stats_begin(RequestStart *start);
extern void stats_end(const RequestStart *start, Request request);

/*
 * A function of SQL that serves a request, counted: blogstore_name() in SQL,
 * and name() below in the file.
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
		stats_begin(&start); \
		result = name(fcinfo); \
		stats_end(&start, request); \
		return result; \
	} \
	extern int	no_such_variable

/* A page of a list, as the caller asked for it. */
typedef struct ListPage
{
	int64		size;			/* -1: all */
	Cursor		before;
} ListPage;

/* A set of rows being returned. */
typedef struct ResultSet
{
	ReturnSetInfo *info;
	ItemType	type;
	MemoryContext row_context;
	int64		rows;
	const DeletedUsers *deleted;	/* whose items are not to be in it */
} ResultSet;

/* Has a set as many rows as the caller asked for? */
static inline bool
page_full(const ResultSet *result, const ListPage *page)
{
	return page->size >= 0 && result->rows >= page->size;
}

/* document.c: items as rows and as JSON documents */
extern Datum item_row(const BlogItem *item, ItemType type, TupleDesc tupdesc);

/* check.c */
extern const pg_uuid_t *need_uuid(FunctionCallInfo fcinfo, int arg,
								  const char *name);
extern Datum need_text(FunctionCallInfo fcinfo, int arg, const char *name);
extern Datum need_username(FunctionCallInfo fcinfo, int arg);
extern bool may_be_username(FunctionCallInfo fcinfo, int arg);
extern void check_not_empty(Datum value, const char *name);
extern void get_id(FunctionCallInfo fcinfo, int arg, pg_uuid_t *id);
extern TimestampTz get_creation_date(FunctionCallInfo fcinfo, int arg);
extern void get_page(FunctionCallInfo fcinfo, int arg, ListPage *page);
extern void check_not_anew(const BlogItem *user);
extern void need_user(const pg_uuid_t *user_id, BlogItem *user);
extern COMPAT_NORETURN void unknown_item(const char *what, const pg_uuid_t *id);
extern COMPAT_NORETURN void id_taken(const char *what, const pg_uuid_t *id);
extern bool post_author_being_deleted(const pg_uuid_t *post_id);
extern bool find_conflicting(ItemType type, const pg_uuid_t *post_id,
							 const Datum *key, int nkeys, BlogItem *out);
extern bool find_conflicting_or_clear(ItemType type, const pg_uuid_t *post_id,
									  const Datum *key, int nkeys,
									  BlogItem *out);

/* child.c */
extern bool write_child(BlogItem *item, ItemType type);
extern Datum delete_on_post(FunctionCallInfo fcinfo, ItemType type,
							const char *command, const char *other);

/* cursor.c */
extern void page_find(ListPage *page, ItemType type, const pg_uuid_t *of);

/* result.c */
extern Datum return_item(FunctionCallInfo fcinfo, const BlogItem *item,
						 ItemType type);
extern void result_begin(ResultSet *result, FunctionCallInfo fcinfo,
						 ItemType type);
extern void result_add(ResultSet *result, const BlogItem *item, int shorten);
extern void result_one(FunctionCallInfo fcinfo, Container container,
					   ItemType type, const pg_uuid_t *partition_key,
					   const Datum *key, int nkeys);
extern void result_list(ResultSet *result, Container container,
						const pg_uuid_t *partition_key, const ListPage *page);
extern Datum result_on_post(FunctionCallInfo fcinfo, ItemType type);

#endif							/* BLOGSTORE_REQUEST_H */
