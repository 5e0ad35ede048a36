/*
 * extra_columns.c
 *		Bulk import: columns of a source that are not fields of items.
 *
 * The caller of import() names some of these columns in the argument "extra".
 * They become part of an item's JSON object "properties". The other columns
 * are left out, and are listed in the result of import().
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/characters.h"
#include "base/compat.h"
#include "import/sources/sources.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

static bool
has_column(Oid source, const char *name)
{
	return get_attnum(source, name) > 0;
}

/*
 * Set import->extra to the column names in the argument "extra" of import().
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
					 errhint("Pass the names of columns."),
					 err_fields(NULL, "extra", RULE_NOT_NULL)));
		name = TextDatumGetCString(names[i]);
		if (property_key_taken(name))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("properties must not have the key \"%s\"", name),
					 errhint("A view can give the column another name."),
					 err_fields(NULL, "extra", RULE_KEYS)));
		import->extra = lappend(import->extra, name);
	}
}

/*
 * Throw an error if a column named in "extra" is in none of the sources of
 * users, posts and comments. Without the error, a misspelled name would lose
 * data. (Values of "extra" go into "properties", which likes do not have.)
 * Errors: 42703.
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
					 errmsg("column \"%.*s\" exists in none of users, posts and comments",
							bytes_clip(name, strlen(name), NAMEDATALEN - 1), name),
					 errhint("Each column of extra must be in at least one of these tables."),
					 err_fields(NULL, "extra", NULL)));
	}
}

/*
 * Return whether a column of a source becomes part of "properties". The
 * columns of likes do not, because likes have no "properties".
 */
static bool
is_extra(const Import *import, ItemType type, const char *name)
{
	ListCell   *lc;

	foreach(lc, import->extra)
		if (strcmp(lfirst(lc), name) == 0)
			return type < ITEM_LIKE;
	return false;
}

/*
 * Return the name of the column with a given number. Returns "" if the column
 * was dropped, NULL if the number is too high.
 */
static char *
column_name(Oid source, AttrNumber number)
{
	char	   *name = get_attname(source, number, true);

	return name == NULL || OidIsValid(get_atttype(source, number)) ? name : "";
}

/*
 * Return an SQL expression that makes a JSON object from the extra columns of
 * a source. The source must have the alias s. Returns NULL if the source has
 * no extra columns.
 *
 * The subquery in the expression has the alias e. The expression contains e.*
 * instead of e, because a column could have the name e. The result of the
 * expression is text, because jsonb does not accept all values of type json.
 * extra_columns_add() parses the text.
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

/*
 * Append the keys and values of a JSON object to the JSON object that is built
 * in "state".
 *
 * nulls: if false, leave out keys with the value null
 */
static void
push_pairs(CompatJsonb *state, Jsonb *object, bool nulls)
{
	JsonbIterator *it = JsonbIteratorInit(&object->root);
	JsonbValue	key;
	JsonbValue	value;

	(void) JsonbIteratorNext(&it, &key, true);
	while (JsonbIteratorNext(&it, &key, true) == WJB_KEY)
	{
		(void) JsonbIteratorNext(&it, &value, true);
		if (!nulls && value.type == jbvNull)
			continue;
		compat_push_jsonb(state, WJB_KEY, &key);
		compat_push_jsonb(state, WJB_VALUE, &value);
	}
}

/*
 * Add the extra columns of a row to the row's "properties", except columns
 * that are NULL. Returns the reason for rejecting the row; NULL if the extra
 * columns are valid. Changes nothing if "properties" is not a JSON object,
 * because row_problem() rejects such a row.
 *
 * extra: the extra columns, as the text of a JSON object
 */
const char *
extra_columns_add(StagedRow *row, Datum extra)
{
	CompatJsonb state = {0};
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
	compat_push_jsonb(&state, WJB_BEGIN_OBJECT, NULL);
	if (own != NULL)
		push_pairs(&state, own, true);
	push_pairs(&state, DatumGetJsonbP(extra), false);
	compat_push_jsonb(&state, WJB_END_OBJECT, NULL);
	row->value[STAGED_PROPERTIES] =
		JsonbPGetDatum(JsonbValueToJsonb(state.result));
	row->isnull[STAGED_PROPERTIES] = false;
	return problem;
}

static bool
is_taken_in(const Import *import, ItemType type, const char *name)
{
	for (int c = 0; c < N_READ; c++)
		if (source_column[type][c] != NULL &&
			strcmp(source_column[type][c], name) == 0)
			return true;
	return is_extra(import, type, name);
}

/*
 * Return an array of the names of those columns of a source that are not
 * imported.
 */
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
