/*
 * author_check.c
 *		Checks for the own_...() commands, which change only items by a given
 *		author.
 *
 * The other commands change any item, and trust their caller to know which
 * user is acting. Untrusted clients may call only wrapper functions, which
 * create_api() makes. A wrapper calls an own_...() command, if there is one,
 * and passes the signed-in user to it as the author. The own_...() command
 * checks that the item is by this user. It also checks that this user may know
 * of the post, which can be hidden.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "model/post_children.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"

#include "utils/uuid.h"

/*
 * Return the first argument of an own_...() command, which is the author. Set
 * *rest to the call without this argument. Errors: 22004 if the author is
 * null.
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
 * Check that the author of a post, comment or like is "author"; NULL accepts
 * any author. The caller should have a row lock on the item. Otherwise another
 * author's item can take its place after the check.
 *
 * Errors: 42501 if the item is by another author. If the item or its post is
 * hidden too, the error is 23503, as for an item that does not exist. The
 * caller then does not learn that the item exists.
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
 * Check that the author of a new item is "author"; NULL accepts any author.
 * The check does not look up the item's post, so the error does not reveal
 * whether the post exists. Errors: 42501.
 */
void
check_new_author(ItemType type, const BlogItem *item, const pg_uuid_t *author)
{
	if (!item_is_by(item, author))
		not_own(type);
}
