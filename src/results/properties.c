/*
 * properties.c
 *		Items' own properties, as requests bring them.
 *
 * In a document they stand beside the article's, so none may be called like one of
 * those, or like what blogstore has added to them.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "layout/item.h"
#include "results/results.h"

#include "utils/jsonb.h"

/* What an item's properties may take, in bytes of jsonb. */
#define MAX_PROPERTIES (64 * 1024)

/* How documents call what an item has itself; sorted. */
static const char *const taken[] = {
	"commentCount", "content", "creationDate", "hidden", "id", "likeCount",
	"modificationDate", "parentId", "postId", "title", "type", "userId",
	"userUsername", "username"
};

static int
compare_key(const void *key, const void *name)
{
	return strcmp(key, *(const char *const *) name);
}

/* Has an object no key that is taken? The first that is is returned, or NULL. */
static const char *
taken_key(Jsonb *object)
{
	JsonbIterator *it = JsonbIteratorInit(&object->root);
	JsonbIteratorToken token;
	JsonbValue	jv;

	while ((token = JsonbIteratorNext(&it, &jv, true)) != WJB_DONE)
	{
		const char *const *found;
		char	   *key;

		if (token != WJB_KEY)
			continue;
		key = pnstrdup(jv.val.string.val, jv.val.string.len);
		found = bsearch(key, taken, lengthof(taken), sizeof(char *), compare_key);
		pfree(key);
		if (found != NULL)
			return *found;
	}
	return NULL;
}

/*
 * What is wrong with an item's properties; NULL: nothing. (An error of 22023 for who
 * passes them as an argument.)
 */
const char *
properties_problem(Datum properties)
{
	Jsonb	   *object = DatumGetJsonbP(properties);
	const char *key;

	if (!JB_ROOT_IS_OBJECT(object) || JB_ROOT_IS_SCALAR(object))
		return "properties must be an object";
	if (VARSIZE(object) - VARHDRSZ > MAX_PROPERTIES)
		return "properties must not take more than 64 kB";
	key = taken_key(object);
	if (key != NULL)
		return psprintf("properties must not have the key \"%s\"", key);
	return NULL;
}

/*
 * The argument properties of a function that may have it; false: it brings none. An
 * object without keys is stored as NULL. Errors: 22023.
 */
bool
get_properties(FunctionCallInfo fcinfo, int arg, BlogItem *item)
{
	const char *problem;
	Jsonb	   *object;

	if (PG_NARGS() <= arg || PG_ARGISNULL(arg))
		return false;
	problem = properties_problem(PG_GETARG_DATUM(arg));
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s", problem),
				 errhint("Pass an object of your own keys, of 64 kB at most; {} for none.")));
	object = PG_GETARG_JSONB_P(arg);
	item->isnull[PROP_PROPERTIES] = JB_ROOT_COUNT(object) == 0;
	item->value[PROP_PROPERTIES] = item->isnull[PROP_PROPERTIES] ? (Datum) 0 :
		JsonbPGetDatum(object);
	return true;
}
