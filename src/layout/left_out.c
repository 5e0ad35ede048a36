/*
 * left_out.c
 *		Items and leaves that cannot be read because the owner has altered them.
 *
 * A backend raises an error. A process that has registered a function, such as the
 * worker, leaves the item or leaf out and passes the message to that function.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "layout/cached.h"
#include "items/item.h"
#include "layout/layout.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#define BIT(prop) (UINT32_C(1) << (prop))

static void (*tell_of) (const char *message) = NULL;
static uint64 left_out = 0;

/*
 * From here on, items and leaves that cannot be read are left out and told to a
 * function, instead of being errors: how the worker goes on with the rest. With NULL
 * they are errors again.
 */
void
left_out_instead_of_errors(void (*tell) (const char *message))
{
	tell_of = tell;
}

/* How often something was left out: an item, a leaf. */
uint64
left_out_count(void)
{
	return left_out;
}

/* Leave a leaf out, or raise what is wrong with it. */
void
leaf_leave_out(const LayoutProblem *p)
{
	if (tell_of == NULL)
		layout_problem_raise(p);
	left_out++;
	tell_of(p->message);
}

/* An item's name in messages. */
static char *
describe_item(const BlogItem *item, ItemType type)
{
	Property	key = PROP_ID;

	if (type == ITEM_USER)
		key = PROP_USER_ID;
	else if (type == ITEM_POST && !item->isnull[PROP_POST_ID])
		key = PROP_POST_ID;
	if (item->isnull[key])
		return psprintf("a %s without %s", item_type_name(type),
						property_column(key));
	return psprintf("%s %s", item_type_name(type),
					DatumGetCString(DirectFunctionCall1(uuid_out,
														item->value[key])));
}

/*
 * Has an item a value for each of these properties? If not, it is left out, or an
 * error (22004).
 */
bool
item_complete(const BlogItem *item, ItemType type, uint32 needed)
{
	for (Property prop = 0; needed >> prop != 0; prop++)
	{
		char	   *name;

		if (!(needed & BIT(prop)) || !item->isnull[prop])
			continue;
		name = describe_item(item, type);
		if (tell_of == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s has no %s", name, property_column(prop)),
					 errhint("Write a value there; blogstore.verify() lists all such items.")));
		left_out++;
		tell_of(psprintf("%s has no %s, and is left out", name,
						 property_column(prop)));
		return false;
	}
	return true;
}

/*
 * Has an item all values that each of its type must have? If not, it is left out,
 * or an error (22004).
 */
bool
item_require_values(const BlogItem *item, ItemType type)
{
	return item_complete(item, type, item_required(type));
}
