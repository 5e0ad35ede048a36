/*
 * author_check.c
 *		The check behind the own_...() commands, which change only items of a
 *		given author.
 *
 * The other commands trust their caller to know which user is acting, and
 * accept any item. The wrappers that create_api() makes are called by clients
 * that are not trusted. They call the own_...() functions for commands that
 * name an item but not its author, and for commands on a post that may be
 * hidden.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "model/post_children.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"

#include "utils/uuid.h"

/*
 * Return the first argument, the author that the item must be by. *rest
 * becomes the call without this argument. Errors: 22004.
 */
const pg_uuid_t *
need_author(FunctionCallInfo fcinfo, FunctionCallInfo rest)
{
	const pg_uuid_t *author = need_uuid(fcinfo, 0, "author");

	InitFunctionCallInfoData(*rest, fcinfo->flinfo, PG_NARGS() - 1,
							 fcinfo->fncollation, fcinfo->context,
							 fcinfo->resultinfo);
	memcpy(rest->args, fcinfo->args + 1, sizeof(NullableDatum) * rest->nargs);
	return author;
}

static COMPAT_NORETURN void
not_own(ItemType type)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("the %s is another user's", item_type_name(type)),
			 errhint("Users change what they have written themselves."),
			 err_fields(container_table(CONTAINER_POSTS), "user_id",
						RULE_OWN_ITEM)));
}

/*
 * Check that a post, or an item on a post, is by the author (NULL: any). If
 * the item is not locked, another one may take its place afterwards. Errors:
 * 42501 if not; 23503 if the item or its post is hidden, so that other users
 * must not learn that it exists.
 */
void
check_author(ItemType type, const BlogItem *item, const pg_uuid_t *author)
{
	if (item_is_by(item, author))
		return;
	if (item_hidden(item) ||
		!author_knows_post(item_uuid(item, PROP_POST_ID), author))
		unknown_item(type, item_uuid(item, PROP_ID));
	not_own(type);
}

/*
 * Check that a new item is by an author (NULL: any). The post is not looked
 * at, so the error says nothing about it. Errors: 42501.
 */
void
check_new_author(ItemType type, const BlogItem *item, const pg_uuid_t *author)
{
	if (!item_is_by(item, author))
		not_own(type);
}
