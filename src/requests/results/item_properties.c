/*
 * item_properties.c
 *		Custom properties: the site's own values, which are stored with an
 *		item in the column "properties".
 *
 * An item's JSON document has the keys of the custom properties beside the
 * keys of the columns. So custom properties must not have the key of a column,
 * such as "postId".
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonb.h"

/* The largest size of an item's custom properties, in bytes of jsonb. */
#define MAX_PROPERTIES (64 * 1024)

/*
 * The largest size of an item's custom properties when printed as text, in
 * bytes. A jsonb number of ten bytes can print as 131,000 digits. Without this
 * limit, one row could print as half a gigabyte.
 */
#define MAX_PRINTED (256 * 1024)

/*
 * The keys of columns in documents, sorted. Custom properties must not have
 * these keys.
 */
static const char *const taken[] = {
	"commentCount", "commentId", "content", "creationDate", "hidden", "id", "likeCount",
	"modificationDate", "parentDeleted", "parentId", "postId", "publishDate", "replyCount",
	"title", "type", "userId", "userUsername", "username"
};

static int
compare_key(const void *key, const void *name)
{
	return strcmp(key, *(const char *const *) name);
}

static const char *
taken_as(const JsonbValue *jv)
{
	char	   *key = pnstrdup(jv->val.string.val, jv->val.string.len);
	const char *const *found = bsearch(key, taken, lengthof(taken),
									   sizeof(char *), compare_key);

	pfree(key);
	return found == NULL ? NULL : *found;
}

/*
 * Return the first key of a jsonb object that is in taken[]; NULL if there is
 * none.
 */
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
 * Set *properties to those keys and values of a document whose keys are not in
 * taken[]. Returns false if there are none.
 */
bool
properties_of_document(Jsonb *document, Datum *properties)
{
	JsonbIterator *it = JsonbIteratorInit(&document->root);
	JsonbIteratorToken token;
	CompatJsonb state = {0};
	JsonbValue	jv;
	bool		own = false;
	bool		any = false;

	compat_push_jsonb(&state, WJB_BEGIN_OBJECT, NULL);
	(void) JsonbIteratorNext(&it, &jv, true);
	while ((token = JsonbIteratorNext(&it, &jv, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			own = taken_as(&jv) == NULL;
		if (own && (token == WJB_KEY || token == WJB_VALUE))
			compat_push_jsonb(&state, token, &jv);
		any |= own && token == WJB_KEY;
	}
	compat_push_jsonb(&state, WJB_END_OBJECT, NULL);
	if (any)
		*properties = JsonbPGetDatum(JsonbValueToJsonb(state.result));
	return any;
}

/*
 * Return whether an item's JSON document uses this key for a column. If so,
 * the key cannot be the name of a custom property.
 */
bool
property_key_taken(const char *key)
{
	return bsearch(key, taken, lengthof(taken), sizeof(char *),
				   compare_key) != NULL;
}

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

/*
 * Return how many bytes the brackets, commas and spaces of a jsonb object or
 * array with n members take as text.
 */
static int
printed_brackets(int n)
{
	return 2 + (n > 1 ? 2 * (n - 1) : 0);
}

/*
 * Return whether a jsonb value takes more than "limit" bytes when printed as
 * text. Does not print the value.
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
 * If an item cannot have these custom properties, return an error message.
 * Otherwise return NULL. Sets *rule to the name of the broken rule
 * (base/error_fields.h).
 */
const char *
properties_problem(Datum properties, const char **rule)
{
	Jsonb	   *object = DatumGetJsonbP(properties);
	const char *key;

	*rule = RULE_OBJECT;
	if (!JB_ROOT_IS_OBJECT(object) || JB_ROOT_IS_SCALAR(object))
		return "properties must be an object";
	*rule = RULE_MAX_LENGTH;
	if (VARSIZE(object) - VARHDRSZ > MAX_PROPERTIES)
		return "properties must not take more than 64 kB";
	*rule = RULE_KEYS;
	key = taken_key(object);
	if (key != NULL)
		return psprintf("properties must not have the key \"%s\"", key);
	*rule = RULE_MAX_LENGTH;
	if (jsonb_prints_longer(object, MAX_PRINTED))
		return "properties must not print as more than 256 kB";
	return NULL;
}

void
check_properties(Datum properties)
{
	const char *rule;
	const char *problem = properties_problem(properties, &rule);

	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s", problem),
				 errhint("Pass an object of your own keys, of 64 kB at most; {} for none."),
				 err_fields(NULL, "properties", rule)));
}

/* Set an item's custom properties. Empty properties are stored as null. */
void
set_properties(BlogItem *item, Datum properties)
{
	Jsonb	   *object = DatumGetJsonbP(properties);

	item->isnull[PROP_PROPERTIES] = JB_ROOT_COUNT(object) == 0;
	item->value[PROP_PROPERTIES] = item->isnull[PROP_PROPERTIES] ? (Datum) 0 :
		JsonbPGetDatum(object);
}

/*
 * Check the argument "properties", and set the item's custom properties to it.
 * If the argument is null, return false and leave the item as it is. Errors:
 * 22023.
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
