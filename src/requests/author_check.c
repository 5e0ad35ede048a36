/*
 * author_check.c
 *		Checks for the own_...() commands, which change only items by a given
 *		author.
 *
 * Commands without own_ change any item, and trust their caller to act for the
 * right user. Untrusted clients may call only wrapper functions, which
 * create_api() makes. If a command has an own_...() variant, its wrapper calls
 * this variant with the signed-in user as the author. The own_...() command
 * checks that the item is by this author. A new comment or like on another
 * user's hidden post is refused, as if the post did not exist.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "model/post_children.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"

#include "utils/uuid.h"

/*
 * Return the author, which is the first argument of an own_...() command. Set
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
			 errmsg("the %s is another user's", item_noun(type)),
			 errhint("Users change what they have written themselves."),
			 err_fields(container_table(CONTAINER_POSTS), "user_id",
						RULE_OWN_ITEM)));
}

/*
 * Check that a post, comment or like is by "author"; NULL accepts any author.
 * The caller should have a row lock on the item. Without this lock, an item by
 * another author could replace it after the check.
 *
 * Errors: 42501 if the item is by another author. If this item is hidden, or
 * is on another user's hidden post, the error is 23503 instead. 23503 says
 * that the item does not exist, so "author" does not learn of it.
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
