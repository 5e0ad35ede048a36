/*
 * author_check.c
 *		Checks for the own_...() commands, which change only items by a given
 *		author.
 *
 * The other commands change any item, and trust their caller to know which
 * user is acting. Clients that are not trusted call wrapper functions, which
 * create_api() makes. The wrappers call the own_...() commands where a command
 * names an item but not its author, and where a command names a post that may
 * be hidden.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "model/post_children.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"

#include "utils/uuid.h"

/*
 * Return the first argument of an own_...() command, the author. *rest becomes
 * the same call without this argument. Errors: 22004.
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
 * Check that a post, comment or like is by the author (NULL: any). If the
 * caller has not locked the item, another item may take its place after the
 * check.
 *
 * Errors: 42501 if the item is by another author; 23503 if in addition the
 * item or its post is hidden, because the author must not learn that it
 * exists.
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
 * Check that a new item is by the author (NULL: any). The post is not looked
 * up, so the error does not tell whether it exists. Errors: 42501.
 */
void
check_new_author(ItemType type, const BlogItem *item, const pg_uuid_t *author)
{
	if (!item_is_by(item, author))
		not_own(type);
}
