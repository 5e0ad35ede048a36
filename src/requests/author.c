/*
 * author.c
 *		Whom a command acts for: items that only their author may change, and the
 *		user in blogstore.current_user_id.
 *
 * Requests take any user's id: whoever may call them is trusted to know who is
 * speaking. The wrappers that create_api() makes for roles of browsers are not
 * called by such a one. They take the user from the setting, which only who
 * authenticates may change, and call the functions own_...() for commands that name
 * an item and not its author.
 *
 * Runs in backends; current_user_id() in parallel workers too.
 */
#include "postgres.h"

#include "layout/item.h"
#include "requests/request.h"
#include "settings.h"

#include "utils/builtins.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(blogstore_current_user_id);

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
 * Is an item that is locked by an author (NULL: anybody)? Until it is locked,
 * another's may come into its place. Errors: 42501; 23503 of what is hidden, which is not
 * for others to know.
 */
void
check_author(const char *what, const BlogItem *item, const pg_uuid_t *author)
{
	if (author == NULL ||
		(!item->isnull[PROP_USER_ID] &&
		 memcmp(item_uuid(item, PROP_USER_ID), author, UUID_LEN) == 0))
		return;
	if (item_hidden(item))
		unknown_item(what, item_uuid(item, PROP_ID));
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("the %s is another user's", what),
			 errhint("Users change what they have written themselves.")));
}

/*
 * blogstore.current_user_id(required): the user in the setting of this name. It is
 * read from the library's own variable. While the library was not loaded anybody could
 * set anything of that name; the server has dropped what was set without the right
 * to it when it loaded the library, in order to call this.
 *
 * Returns NULL if there is none and none is required. Errors: 42501; 22004 required
 * is NULL.
 */
Datum
blogstore_current_user_id(PG_FUNCTION_ARGS)
{
	const char *id = blogstore_current_user;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("required must not be null"),
				 errhint("Pass a value for required.")));
	if (id != NULL && id[0] != '\0')
		return DirectFunctionCall1(uuid_in, CStringGetDatum(id));
	if (PG_GETARG_BOOL(0))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("nobody is signed in"),
				 errhint("Set \"blogstore.current_user_id\" in this transaction, which takes the right to set it.")));
	PG_RETURN_NULL();
}
