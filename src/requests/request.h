/*
 * request.h
 *		What all requests share: checks of arguments, and results.
 */
#ifndef BLOGSTORE_REQUEST_H
#define BLOGSTORE_REQUEST_H

#include "compat.h"
#include "container/container.h"

#include "funcapi.h"

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

/* check.c */
extern void request_begin(OwnerScope *scope, const char *command);
extern const pg_uuid_t *need_uuid(FunctionCallInfo fcinfo, int arg,
								  const char *name);
extern Datum need_text(FunctionCallInfo fcinfo, int arg, const char *name);
extern void check_not_empty(Datum value, const char *name);
extern void check_username(Datum username);
extern void get_id(FunctionCallInfo fcinfo, int arg, pg_uuid_t *id);
extern TimestampTz get_creation_date(FunctionCallInfo fcinfo, int arg);
extern void get_page(FunctionCallInfo fcinfo, int arg, ListPage *page);
extern void need_user(const pg_uuid_t *user_id, BlogItem *user);
extern COMPAT_NORETURN void unknown_item(const char *what, const pg_uuid_t *id);
extern COMPAT_NORETURN void id_taken(const char *what, const pg_uuid_t *id);
extern bool post_being_deleted(const pg_uuid_t *post_id);
extern void get_conflicting(ItemType type, const pg_uuid_t *post_id,
							const Datum *key, int nkeys, BlogItem *out);

/* child.c */
extern bool write_child(BlogItem *item, ItemType type);
extern bool remove_served_child(ItemType type, const pg_uuid_t *post_id,
								const pg_uuid_t *other);

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

#endif							/* BLOGSTORE_REQUEST_H */
