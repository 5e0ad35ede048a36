/*
 * source_keys.c
 *		Bulk import: makes ids of items from the keys (numbers or texts) by
 *		which a source identifies them.
 *
 * An id column of a source contains either uuids or keys, according to its
 * type. Its name says which type of item the ids or keys identify. For
 * example, post_id identifies posts in every source.
 *
 * The statement that reads a source casts keys to text, so that equal keys
 * become equal texts. key_id_make() makes an id from each text, so keys need
 * not be stored.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "import/sources/sources.h"
#include "requests/requests.h"
#include "storage/blog_item.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "common/sha2.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

/*
 * Return whether a type is citext. A string type called citext may also belong
 * to another extension.
 */
static bool
is_citext(Oid type)
{
	bool		preferred;
	char		category;

	if (!OidIsValid(type))
		return false;
	get_type_category_preferred(type, &category, &preferred);
	return category == TYPCATEGORY_STRING &&
		strcmp(format_type_extended(type, -1, 0), "citext") == 0;
}

/* Return whether id columns of this type contain keys, and not uuids. */
static bool
is_key_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID ||
		type == NUMERICOID || type == TEXTOID || type == VARCHAROID ||
		type == BPCHAROID || is_citext(type);
}

/*
 * Return an SQL expression that casts a key to text. The source must have the
 * alias s. Equal numbers, or equal values of citext, give the same text. The
 * cast of char(n) to text removes trailing spaces.
 */
char *
source_key_select(ItemType type, Oid source, StagedColumn column)
{
	const char *name = source_column[type][column];
	Oid			of = source_type(type, source, column);

	if (of == NUMERICOID)
		return psprintf("pg_catalog.trim_scale(s.%s)::pg_catalog.text", name);
	if (is_citext(of))
		return psprintf("pg_catalog.lower(s.%s::pg_catalog.text COLLATE pg_catalog.\"default\")",
						name);
	return psprintf("s.%s::pg_catalog.text", name);
}

/* Return whether a column contains ids or keys. */
static bool
refers(StagedColumn column)
{
	return column <= STAGED_FOLLOWED_ID || column == STAGED_PARENT_ID ||
		column == STAGED_COMMENT_ID;
}

/*
 * Set is_key[] for each column of a source: true if the column refers to items
 * by the old site's own keys (numbers or texts), false if by uuids. Errors:
 * 42804 if an id column has another type.
 */
void
source_keys_find(const Import *import, ItemType type, Oid source,
				 bool *is_key)
{
	for (StagedColumn c = STAGED_ID; c < N_READ; c++)
	{
		Oid			of;

		is_key[c] = false;
		if (!refers(c) || !source_has(type, source, c))
			continue;
		of = source_type(type, source, c);
		if (!OidIsValid(of))
			/* The column was dropped. The statement will raise the error. */
			continue;
		is_key[c] = is_key_type(of);
		if (of != UUIDOID && !is_key[c])
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of \"%s\" is of type %s",
							source_column[type][c],
							get_rel_name(source), format_type_be(of)),
					 errhint("Ids are of type uuid, keys of type bigint, integer, smallint, numeric, text, varchar, char or citext; a view can cast them.")));
	}
}

static ItemType
referred_type(ItemType type, StagedColumn column)
{
	if (column == STAGED_ID || column == STAGED_PARENT_ID)
		return type;
	if (column == STAGED_COMMENT_ID)
		return ITEM_COMMENT;
	return column == STAGED_POST_ID ? ITEM_POST : ITEM_USER;
}

/*
 * Replace a key by the id that is made from it. Returns an error message if
 * the key is invalid; else NULL. An invalid key becomes NULL (*isnull is
 * true), except in this case:
 *
 * A key that looks like a uuid may be meant as an id. If the caller of
 * import() has passed no key_prefix, such a key is invalid. The key becomes
 * the uuid that it looks like, for the table of rejected items.
 */
static const char *
map_key(const SourceKeys *keys, ItemType type, Datum *value, bool *isnull)
{
	const Import *import = keys->import;
	text	   *key = DatumGetTextPP(*value);
	int			length = VARSIZE_ANY_EXHDR(key);
	char	   *whole = VARDATA_ANY(key);
	pg_uuid_t  *id = palloc(sizeof(pg_uuid_t));
	const char *problem;

	if (import->prefix_length == 0 && text_is_uuid(whole, length))
	{
		*value = DirectFunctionCall1(uuid_in,
									 CStringGetDatum(text_to_cstring(key)));
		return "is a uuid written as text: cast it to uuid in a view, or pass key_prefix if it is a key";
	}
	*isnull = true;
	if (length == 0)
		return "must not be empty";
	if (import->prefix_length > 0)
	{
		whole = palloc(import->prefix_length + length);
		memcpy(whole, import->key_prefix, import->prefix_length);
		memcpy(whole + import->prefix_length, VARDATA_ANY(key), length);
		length += import->prefix_length;
	}
	problem = key_id_make(keys->hash, type, whole, length, id);
	*value = UUIDPGetDatum(id);
	*isnull = problem != NULL;
	return problem;
}

/* Prepare to replace keys by ids. Errors: 42804. */
void
source_keys_begin(SourceKeys *keys, const Import *import, ItemType type,
				  Oid source)
{
	keys->import = import;
	keys->type = type;
	source_keys_find(import, type, source, keys->is_key);
	keys->any = false;
	for (int c = 0; c < N_READ; c++)
		keys->any |= keys->is_key[c];
	keys->hash = keys->any ? pg_cryptohash_create(PG_SHA256) : NULL;
}

/*
 * Replace all keys in a row by ids, in the current memory context. Returns an
 * error message about the first invalid key; NULL if all keys are valid. An
 * invalid key becomes NULL, or a uuid if it looks like one. Errors: 54000.
 */
const char *
source_keys_map(const SourceKeys *keys, StagedRow *row)
{
	const char *problem = NULL;

	for (StagedColumn c = STAGED_ID; c < N_READ; c++)
	{
		const char *why;

		if (!keys->is_key[c] || row->isnull[c])
			continue;
		why = text_problem(keys->import, keys->type, c,
						   (int64) toast_raw_datum_size(row->value[c]) -
						   VARHDRSZ + keys->import->prefix_length);
		if (why != NULL)
			row->isnull[c] = true;
		else
		{
			why = map_key(keys, referred_type(keys->type, c), &row->value[c],
						  &row->isnull[c]);
			if (why != NULL)
				why = psprintf("%s %s", source_column[keys->type][c], why);
		}
		if (problem == NULL)
			problem = why;
	}
	return problem;
}

void
source_keys_end(SourceKeys *keys)
{
	if (keys->hash != NULL)
		pg_cryptohash_free(keys->hash);
}
