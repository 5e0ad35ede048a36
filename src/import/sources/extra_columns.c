/*
 * extra_columns.c
 *		Bulk import: columns of a source that items do not have. Those that the caller
 *		names become properties; the others are left out, and said to be.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "import/sources/sources.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Has a source a column of a name? Those of the system are none. */
static bool
has_column(Oid source, const char *name)
{
	return get_attnum(source, name) > 0;
}

/*
 * Take the argument extra, names of columns, in the current memory context.
 * Errors: 22004, 22023.
 */
void
extra_columns_get(Import *import, Datum argument)
{
	ArrayType  *array = DatumGetArrayTypeP(argument);
	Datum	   *names;
	bool	   *nulls;
	int			n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		char	   *name;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("extra must not contain nulls"),
					 errhint("Pass the names of columns.")));
		name = TextDatumGetCString(names[i]);
		if (property_key_taken(name))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("properties must not have the key \"%s\"", name),
					 errhint("A view can give the column another name.")));
		import->extra = lappend(import->extra, name);
	}
}

/*
 * Is each of them a column of a source whose items have properties? Of others nobody would
 * find out that they are lost. Errors: 42703.
 */
void
extra_columns_need(const Import *import, const Oid *source)
{
	ListCell   *lc;

	foreach(lc, import->extra)
	{
		const char *name = lfirst(lc);
		bool		found = false;

		for (ItemType t = ITEM_USER; t < ITEM_LIKE; t++)
			found |= OidIsValid(source[t]) && has_column(source[t], name);
		if (!found)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("no users, posts or comments have a column \"%s\"", name),
					 errhint("Each column of extra has to be in one of the tables.")));
	}
}

/* Does the caller name a column of items of a type? */
static bool
is_extra(const Import *import, ItemType type, const char *name)
{
	ListCell   *lc;

	foreach(lc, import->extra)
		if (strcmp(lfirst(lc), name) == 0)
			return type != ITEM_LIKE;
	return false;
}

/* A column's name; one that was dropped has none. NULL: there are no more. */
static char *
column_name(Oid source, AttrNumber number)
{
	char	   *name = get_attname(source, number, true);

	return name == NULL || OidIsValid(get_atttype(source, number)) ? name : "";
}

/*
 * What selects those that a source, s, has, as the text of one object; NULL: it has none. An
 * "e" without the star would be the column of that name, where there is one. A json column may
 * have what jsonb does not take, so the text is parsed here (import/sources/source_json.c).
 */
char *
extra_columns_select(const Import *import, ItemType type, Oid source)
{
	StringInfoData columns;
	char	   *name;

	initStringInfo(&columns);
	for (AttrNumber a = 1; (name = column_name(source, a)) != NULL; a++)
		if (is_extra(import, type, name))
			appendStringInfo(&columns, "%ss.%s", columns.len > 0 ? ", " : "",
							 quote_identifier(name));
	return columns.len == 0 ? NULL :
		psprintf("(SELECT pg_catalog.to_json(e.*)::pg_catalog.text FROM (SELECT %s) AS e)",
				 columns.data);
}

/* Put an object's pairs into another, those without a value if they are to be. */
static void
push_pairs(JsonbParseState **state, Jsonb *object, bool nulls)
{
	JsonbIterator *it = JsonbIteratorInit(&object->root);
	JsonbIteratorToken token;
	JsonbValue	key;
	JsonbValue	value;

	(void) JsonbIteratorNext(&it, &key, true);
	while ((token = JsonbIteratorNext(&it, &key, true)) == WJB_KEY)
	{
		(void) JsonbIteratorNext(&it, &value, true);
		if (!nulls && value.type == jbvNull)
			continue;
		(void) pushJsonbValue(state, WJB_KEY, &key);
		(void) pushJsonbValue(state, WJB_VALUE, &value);
	}
}

/*
 * Add extra columns, the text of an object, to a row's properties; those that are NULL are no
 * properties. If the row's own are no object, which is its fault, they are left as they are.
 * Returns what is wrong with the extra columns, or NULL.
 */
const char *
extra_columns_add(StagedRow *row, Datum extra)
{
	JsonbParseState *state = NULL;
	Jsonb	   *own = NULL;
	const char *problem = source_json_parse(extra, &extra);

	if (!JB_ROOT_IS_OBJECT(DatumGetJsonbP(extra)))
		return problem;
	if (!row->isnull[STAGED_PROPERTIES])
	{
		own = DatumGetJsonbP(row->value[STAGED_PROPERTIES]);
		if (!JB_ROOT_IS_OBJECT(own))
			return problem;
	}
	(void) pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	if (own != NULL)
		push_pairs(&state, own, true);
	push_pairs(&state, DatumGetJsonbP(extra), false);
	row->value[STAGED_PROPERTIES] =
		JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT,
														NULL)));
	row->isnull[STAGED_PROPERTIES] = false;
	return problem;
}

/* Is a column taken in, of itself or because the caller names it? */
static bool
is_taken_in(const Import *import, ItemType type, const char *name)
{
	for (int c = 0; c < N_READ; c++)
		if (source_column[type][c] != NULL &&
			strcmp(source_column[type][c], name) == 0)
			return true;
	return is_extra(import, type, name);
}

/* The names of a source's other columns, an array of texts. */
Datum
left_out_columns(const Import *import, ItemType type, Oid source)
{
	ArrayBuildState *names = initArrayResult(TEXTOID, CurrentMemoryContext, false);
	char	   *name;

	for (AttrNumber a = 1; (name = column_name(source, a)) != NULL; a++)
		if (*name != '\0' && !is_taken_in(import, type, name))
			names = accumArrayResult(names, CStringGetTextDatum(name), false,
									 TEXTOID, CurrentMemoryContext);
	return makeArrayResult(names, CurrentMemoryContext);
}
