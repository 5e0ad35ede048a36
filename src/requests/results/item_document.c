/*
 * item_document.c
 *		Converting items to rows, and rows to JSON documents.
 *
 * The keys of the documents are those of the article whose data model
 * blogstore implements, such as commentCount. Runs in any process.
 */
#include "postgres.h"

#include "base/compat.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(blogstore_item_document);

/*
 * Set values[] and nulls[] to the fields of an item, in the order of the
 * columns of its row type. If the field "hidden" of the item is NULL, its
 * value is set to false.
 */
void
item_columns(const BlogItem *item, ItemType type, Datum *values, bool *nulls)
{
	int			n;
	const Property *prop = item_properties(type, &n);

	for (int i = 0; i < n; i++)
	{
		values[i] = item->value[prop[i]];
		nulls[i] = item->isnull[prop[i]];
		if (prop[i] == PROP_HIDDEN && nulls[i])
		{
			values[i] = BoolGetDatum(false);
			nulls[i] = false;
		}
	}
}

/*
 * Return an item as a composite value. tupdesc is its row type, blessed by
 * BlessTupleDesc().
 */
Datum
item_row(const BlogItem *item, ItemType type, TupleDesc tupdesc)
{
	Datum		values[N_PROPERTIES];
	bool		nulls[N_PROPERTIES];

	item_columns(item, type, values, nulls);
	return HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls));
}

/*
 * Convert a column name to the key that stands for it in documents: from
 * snake_case to camelCase, as in the article.
 */
static char *
property_name(const char *column)
{
	char	   *name = pstrdup(column);
	char	   *out = name;

	for (const char *in = column; *in; in++)
	{
		if (in[0] == '_' && in[1] != '\0')
			*out++ = pg_toupper((unsigned char) *++in);
		else
			*out++ = *in;
	}
	*out = '\0';
	return name;
}

static void
string_value(JsonbValue *jv, char *s)
{
	jv->type = jbvString;
	jv->val.string.val = s;
	jv->val.string.len = strlen(s);
}

/*
 * Convert a column value to a jsonb value. Counts become numbers, "hidden"
 * becomes a boolean, all other values become strings. The default case is for
 * columns that the owner has added to the row type.
 */
static void
column_value(JsonbValue *jv, Oid type, Datum value)
{
	Oid			output;
	bool		varlena;

	switch (type)
	{
		case INT8OID:
			jv->type = jbvNumeric;
			jv->val.numeric = int64_to_numeric(DatumGetInt64(value));
			break;
		case BOOLOID:
			jv->type = jbvBool;
			jv->val.boolean = DatumGetBool(value);
			break;
		case TIMESTAMPTZOID:
			string_value(jv, JsonEncodeDateTime(NULL, value, TIMESTAMPTZOID,
												NULL));
			break;
		case UUIDOID:
			string_value(jv, id_text(DatumGetUUIDP(value)));
			break;
		case TEXTOID:
			string_value(jv, TextDatumGetCString(value));
			break;
		default:
			getTypeOutputInfo(type, &output, &varlena);
			string_value(jv, OidOutputFunctionCall(output, value));
			break;
	}
}

static void
push_object(CompatJsonb *state, Datum object)
{
	JsonbIterator *it = JsonbIteratorInit(&DatumGetJsonbP(object)->root);
	JsonbIteratorToken token;
	JsonbValue	jv;

	(void) JsonbIteratorNext(&it, &jv, true);
	while ((token = JsonbIteratorNext(&it, &jv, true)) != WJB_DONE)
		if (token == WJB_KEY || token == WJB_VALUE)
			compat_push_jsonb(state, token, &jv);
}

/*
 * Return whether to omit a column from a document. A column that is not in the
 * article's documents is omitted if its value is null or false.
 */
static bool
is_left_out(const char *column, Oid type, Datum value, bool isnull)
{
	bool		added = false;

	for (Property p = 0; p < N_PROPERTIES; p++)
		added |= !property_in_article(p) && strcmp(column, property_column(p)) == 0;
	return added && (isnull || (type == BOOLOID && !DatumGetBool(value)));
}

/*
 * Convert a row to a document. The custom properties of the item come first.
 * If a custom property has the key of a column, only the column is in the
 * document. Only the owner can have stored such a property, by a statement on
 * the table.
 */
static Jsonb *
make_document(HeapTuple tuple, TupleDesc desc)
{
	CompatJsonb state = {0};
	AttrNumber	own = InvalidAttrNumber;
	bool		isnull;
	Datum		value;

	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped &&
			TupleDescAttr(desc, i)->atttypid == JSONBOID &&
			strcmp(NameStr(TupleDescAttr(desc, i)->attname),
				   property_column(PROP_PROPERTIES)) == 0)
			own = i + 1;

	compat_push_jsonb(&state, WJB_BEGIN_OBJECT, NULL);
	value = own == InvalidAttrNumber ? (Datum) 0 :
		heap_getattr(tuple, own, desc, &isnull);
	if (own != InvalidAttrNumber && !isnull &&
		JB_ROOT_IS_OBJECT(DatumGetJsonbP(value)))
		push_object(&state, value);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		JsonbValue	jv;

		if (att->attisdropped || att->attnum == own)
			continue;
		value = heap_getattr(tuple, i + 1, desc, &isnull);
		if (is_left_out(NameStr(att->attname), att->atttypid, value, isnull))
			continue;
		string_value(&jv, property_name(NameStr(att->attname)));
		compat_push_jsonb(&state, WJB_KEY, &jv);
		if (isnull)
			jv.type = jbvNull;
		else
			column_value(&jv, att->atttypid, value);
		compat_push_jsonb(&state, WJB_VALUE, &jv);
	}
	compat_push_jsonb(&state, WJB_END_OBJECT, NULL);
	return JsonbValueToJsonb(state.result);
}

/*
 * The SQL functions user_document(), post_document(), comment_document() and
 * like_document(): return an item's row as a JSON document. A null column
 * becomes a JSON null if the column is in the article's documents.
 */
Datum
blogstore_item_document(PG_FUNCTION_ARGS)
{
	HeapTupleHeader row = PG_GETARG_HEAPTUPLEHEADER(0);
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row),
											  HeapTupleHeaderGetTypMod(row));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),
	.t_data = row};
	Jsonb	   *document;

	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	document = make_document(&tuple, desc);
	ReleaseTupleDesc(desc);
	PG_RETURN_JSONB_P(document);
}
