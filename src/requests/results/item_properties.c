/*
 * item_properties.c
 *		Items' own properties, as requests bring them.
 *
 * In a document they stand beside the article's, so none may be called like one of
 * those, or like what blogstore has added to them.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "requests/results/results.h"
#include "storage/blog_item.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonb.h"

/* What an item's properties may take, in bytes of jsonb. */
#define MAX_PROPERTIES (64 * 1024)

/*
 * And in bytes as they are printed. A number of ten bytes can print as 131,000 digits, so a row of a
 * list could print as half a gigabyte.
 */
#define MAX_PRINTED (256 * 1024)

/* How documents call what an item has itself; sorted. */
static const char *const taken[] = {
	"commentCount", "content", "creationDate", "hidden", "id", "likeCount",
	"modificationDate", "parentDeleted", "parentId", "postId", "title", "type",
	"userId", "userUsername", "username"
};

static int
compare_key(const void *key, const void *name)
{
	return strcmp(key, *(const char *const *) name);
}

/* Which of those is a key? NULL: it is none. */
static const char *
taken_as(const JsonbValue *jv)
{
	char	   *key = pnstrdup(jv->val.string.val, jv->val.string.len);
	const char *const *found = bsearch(key, taken, lengthof(taken),
									   sizeof(char *), compare_key);

	pfree(key);
	return found == NULL ? NULL : *found;
}

/* The first key of an object that is taken; NULL: none is. */
static const char *
taken_key(Jsonb *object)
{
	JsonbIterator *it = JsonbIteratorInit(&object->root);
	JsonbIteratorToken token;
	JsonbValue	jv;
	const char *found = NULL;

	while (found == NULL &&
		   (token = JsonbIteratorNext(&it, &jv, true)) != WJB_DONE)
		if (token == WJB_KEY)
			found = taken_as(&jv);
	return found;
}

/*
 * What an item's document, an object, has beside the article's properties and those that
 * blogstore has added; false: nothing.
 */
bool
properties_of_document(Jsonb *document, Datum *properties)
{
	JsonbIterator *it = JsonbIteratorInit(&document->root);
	JsonbIteratorToken token;
	JsonbParseState *state = NULL;
	JsonbValue	jv;
	JsonbValue *object;
	bool		own = false;
	bool		any = false;

	(void) pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	(void) JsonbIteratorNext(&it, &jv, true);
	while ((token = JsonbIteratorNext(&it, &jv, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			own = taken_as(&jv) == NULL;
		if (own && (token == WJB_KEY || token == WJB_VALUE))
			(void) pushJsonbValue(&state, token, &jv);
		any |= own && token == WJB_KEY;
	}
	object = pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	if (any)
		*properties = JsonbPGetDatum(JsonbValueToJsonb(object));
	return any;
}

/* Must no property be called so? */
bool
property_key_taken(const char *key)
{
	return bsearch(key, taken, lengthof(taken), sizeof(char *),
				   compare_key) != NULL;
}

/* The bytes that a key, or a value that is no array or object, prints as. */
static int
printed_scalar(const JsonbValue *jv)
{
	StringInfoData out;
	char	   *text;
	int			n;

	switch (jv->type)
	{
		case jbvNull:
			return strlen("null");
		case jbvBool:
			return strlen(jv->val.boolean ? "true" : "false");
		case jbvNumeric:
			text = DatumGetCString(DirectFunctionCall1(numeric_out,
													   NumericGetDatum(jv->val.numeric)));
			n = strlen(text);
			pfree(text);
			return n;
		case jbvString:
			text = pnstrdup(jv->val.string.val, jv->val.string.len);
			initStringInfo(&out);
			escape_json(&out, text);
			n = out.len;
			pfree(out.data);
			pfree(text);
			return n;
		default:
			elog(ERROR, "unexpected kind of jsonb value: %d", (int) jv->type);
	}
}

/* The bytes of a container's brackets and of the separators between its n members. */
static int
printed_brackets(int n)
{
	return 2 + (n > 1 ? 2 * (n - 1) : 0);
}

/*
 * Does jsonb print as more bytes than a limit? It is measured value by value, and no further than to
 * the limit.
 */
bool
jsonb_prints_longer(Jsonb *jsonb, int64 limit)
{
	JsonbIterator *it = JsonbIteratorInit(&jsonb->root);
	JsonbIteratorToken token;
	JsonbValue	jv;
	int64		printed = 0;

	while (printed <= limit &&
		   (token = JsonbIteratorNext(&it, &jv, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		switch (token)
		{
			case WJB_BEGIN_OBJECT:
				printed += printed_brackets(jv.val.object.nPairs);
				break;
			case WJB_BEGIN_ARRAY:
				printed += printed_brackets(jv.val.array.nElems);
				break;
			case WJB_KEY:
				printed += printed_scalar(&jv) + strlen(": ");
				break;
			case WJB_VALUE:
			case WJB_ELEM:
				printed += printed_scalar(&jv);
				break;
			default:
				break;
		}
	}
	return printed > limit;
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
	if (jsonb_prints_longer(object, MAX_PRINTED))
		return "properties must not print as more than 256 kB";
	return NULL;
}

/* Errors: 22023 unless an item can have such properties. */
void
check_properties(Datum properties)
{
	const char *problem = properties_problem(properties);

	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s", problem),
				 errhint("Pass an object of your own keys, of 64 kB at most; {} for none.")));
}

/* Give an item properties. An object without keys is stored as NULL. */
void
set_properties(BlogItem *item, Datum properties)
{
	Jsonb	   *object = DatumGetJsonbP(properties);

	item->isnull[PROP_PROPERTIES] = JB_ROOT_COUNT(object) == 0;
	item->value[PROP_PROPERTIES] = item->isnull[PROP_PROPERTIES] ? (Datum) 0 :
		JsonbPGetDatum(object);
}

/*
 * The argument properties of a function; false: it is NULL.
 * Errors: 22023.
 */
bool
get_properties(FunctionCallInfo fcinfo, int arg, BlogItem *item)
{
	if (PG_ARGISNULL(arg))
		return false;
	check_properties(PG_GETARG_DATUM(arg));
	set_properties(item, PG_GETARG_DATUM(arg));
	return true;
}
