/*
 * author_check.c
 *		Commands for items that only their author may change: own_...().
 *
 * Requests take any user's id: whoever may call them is trusted to know who is
 * speaking. The wrappers that create_api() makes for roles of browsers are not
 * called by such a one, and call these for commands that name an item and not its
 * author, or a post that may be hidden.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "model/post_children.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"

#include "utils/uuid.h"

/*
 * The first argument, which is the author that an item has to be by; *rest becomes the
 * call without it. Errors: 22004.
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

/*
 * Is a post, or what is on it, by an author (NULL: anybody)? Until the item is locked,
 * another's may come into its place. Errors: 42501; 23503 of what is hidden, or on a post
 * that is, which is not for others to know.
 */
void
check_author(const char *what, const BlogItem *item, const pg_uuid_t *author)
{
	if (item_is_by(item, author))
		return;
	if (item_hidden(item) ||
		!author_knows_post(item_uuid(item, PROP_POST_ID), author))
		unknown_item(what, item_uuid(item, PROP_ID));
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("the %s is another user's", what),
			 errhint("Users change what they have written themselves.")));
}
