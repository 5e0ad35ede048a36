/*
 * import_document.c
 *		Bulk import: the article's JSON documents as items.
 *
 * What is of a wrong form is told, not raised as an error: input functions
 * that do not raise errors are not in all supported servers.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/import.h"
#include "compat.h"

#include "utils/builtins.h"

/* A document's properties, in the order of StagedColumn. */
static const char *const property[STAGED_REASON] = {
	"id", "postId", "userId", "username", "title", "content", "creationDate"
};

/* Which of them an item of a type has. */
static const bool has_property[N_IMPORTED][STAGED_REASON] = {
	[ITEM_USER] = {true, false, true, true, false, false, true},
	[ITEM_POST] = {true, true, true, false, true, true, true},
	[ITEM_COMMENT] = {true, true, true, false, false, true, true},
	[ITEM_LIKE] = {true, true, true, false, false, false, true}
};

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Read an id of 32 hexadecimal digits, with or without its hyphens. */
static bool
parse_uuid(const char *text, pg_uuid_t *id)
{
	for (int i = 0; i < UUID_LEN; i++)
	{
		int			high;
		int			low;

		if (*text == '-' && (i == 4 || i == 6 || i == 8 || i == 10))
			text++;
		if ((high = hex_value(text[0])) < 0 || (low = hex_value(text[1])) < 0)
			return false;
		id->data[i] = high << 4 | low;
		text += 2;
	}
	return *text == '\0';
}

/* Read a property's value into a column; false if it is not of that type. */
static bool
parse_property(StagedColumn column, char *text, Datum *value)
{
	pg_uuid_t  *id;
	TimestampTz date;

	switch (column)
	{
		case STAGED_ID:
		case STAGED_POST_ID:
		case STAGED_USER_ID:
			id = palloc(sizeof(pg_uuid_t));
			*value = UUIDPGetDatum(id);
			return parse_uuid(text, id);
		case STAGED_CREATION_DATE:
			if (!compat_parse_timestamptz(text, &date))
				return false;
			*value = TimestampTzGetDatum(date);
			return true;
		default:
			*value = CStringGetTextDatum(text);
			return true;
	}
}

static const char *
wanted(StagedColumn column)
{
	if (column == STAGED_CREATION_DATE)
		return "date";
	return column <= STAGED_USER_ID ? "uuid" : "string";
}

/* A string of a document; NULL if there is none, or it is another value. */
static char *
get_string(Jsonb *document, const char *key, bool *other)
{
	JsonbValue	found;

	*other = false;
	if (getKeyJsonValueFromContainer(&document->root, key, strlen(key),
									 &found) == NULL ||
		found.type == jbvNull)
		return NULL;
	*other = found.type != jbvString;
	return *other ? NULL : pnstrdup(found.val.string.val, found.val.string.len);
}

/*
 * Where the item is its own logical partition's first, its id stands twice;
 * once is enough.
 */
static const char *
unite_ids(StagedRow *row, StagedColumn key)
{
	if (row->isnull[key])
	{
		row->value[key] = row->value[STAGED_ID];
		row->isnull[key] = row->isnull[STAGED_ID];
	}
	else if (!row->isnull[STAGED_ID] &&
			 memcmp(DatumGetUUIDP(row->value[key]),
					DatumGetUUIDP(row->value[STAGED_ID]), UUID_LEN) != 0)
		return psprintf("id and %s differ", property[key]);
	return NULL;
}

/*
 * Read a document into a row. Returns what is wrong with its form, or NULL;
 * *typed tells whether *type is known. In the current memory context.
 */
const char *
document_parse(Jsonb *document, ItemType *type, bool *typed, StagedRow *row)
{
	bool		other;
	char	   *text;
	int			t = 0;

	*typed = false;
	if (!JB_ROOT_IS_OBJECT(document))
		return "the document is no object";
	text = get_string(document, "type", &other);
	while (text != NULL && t < N_IMPORTED &&
		   strcmp(text, item_type_name(t)) != 0)
		t++;
	if (text == NULL || t == N_IMPORTED)
		return "unknown type";
	*type = t;
	*typed = true;

	for (int c = 0; c < N_STAGED; c++)
	{
		row->value[c] = (Datum) 0;
		row->isnull[c] = true;
	}
	for (int c = 0; c < STAGED_REASON; c++)
	{
		if (!has_property[t][c])
			continue;
		text = get_string(document, property[c], &other);
		if (other ||
			(text != NULL && !parse_property(c, text, &row->value[c])))
			return psprintf("%s is no %s", property[c], wanted(c));
		row->isnull[c] = text == NULL;
	}
	if (t == ITEM_USER)
		return unite_ids(row, STAGED_USER_ID);
	if (t == ITEM_POST)
		return unite_ids(row, STAGED_POST_ID);
	return NULL;
}
