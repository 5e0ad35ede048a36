/*
 * row_check.c
 *		Bulk import: checks the values of each source row, without comparing
 *		them with existing items.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/characters.h"
#include "import/sources/sources.h"
#include "model/user_changes/user_changes.h"
#include "requests/requests.h"
#include "requests/results/results.h"

#include "access/detoast.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/*
 * In a rejected item, a text that is too long is cut to this many characters.
 */
#define CUT_LENGTH 200

#define TITLE_TOO_LONG \
	"title is longer than " CppAsString2(MAX_TITLE_LENGTH) " characters"

/*
 * For each type of item: the names of the source's columns, in the order of
 * StagedColumn; NULL for a column that items of the type do not have.
 */
const char *const source_column[N_IMPORTED][N_READ] = {
	[ITEM_USER] = {NULL, NULL, "user_id", NULL, "username", NULL, NULL,
	"creation_date", "properties", [STAGED_REASON] = "reject_reason"},
	[ITEM_POST] = {NULL, "post_id", "user_id", NULL, NULL, "title", "content",
		"creation_date", "properties", "hidden", "modification_date",
	"publish_date", [STAGED_REASON] = "reject_reason"},
	[ITEM_COMMENT] = {"comment_id", "post_id", "user_id", NULL, NULL, NULL,
		"content", "creation_date", "properties", "hidden", "modification_date",
	[STAGED_PARENT_ID] = "parent_id", [STAGED_REASON] = "reject_reason"},
	[ITEM_LIKE] = {NULL, "post_id", "user_id", NULL, NULL, NULL, NULL,
		"creation_date", [STAGED_COMMENT_ID] = "comment_id",
	[STAGED_REASON] = "reject_reason"},
	[ITEM_COMMENT_LIKE] = {NULL, "post_id", "user_id", NULL, NULL, NULL, NULL,
		"creation_date", [STAGED_COMMENT_ID] = "comment_id",
	[STAGED_REASON] = "reject_reason"},
	[ITEM_FOLLOW] = {NULL, NULL, "user_id", "followed_id", NULL, NULL, NULL,
	"creation_date", [STAGED_REASON] = "reject_reason"}
};

/*
 * Return whether the import reads a column. It reads all required columns, and
 * optional columns if the source has them.
 */
bool
source_has(ItemType type, Oid source, StagedColumn column)
{
	const char *name = source_column[type][column];

	if (name == NULL || column < N_NEEDED)
		return name != NULL;
	return get_attnum(source, name) != InvalidAttrNumber;
}

/*
 * Return the type of a column; for a domain, the base type. Returns InvalidOid
 * if the column has been dropped meanwhile.
 */
Oid
source_type(ItemType type, Oid source, StagedColumn column)
{
	Oid			of = get_atttype(source, get_attnum(source, source_column[type][column]));

	return OidIsValid(of) ? getBaseType(of) : InvalidOid;
}

static bool
is_empty(Datum text)
{
	/* does not detoast the text */
	return toast_raw_datum_size(text) == VARHDRSZ;
}

/*
 * Return the reason for rejecting a row if a text is too long for its column;
 * else NULL. A username may be longer than is valid, because row_cut_texts()
 * removes blanks at its ends later.
 *
 * bytes: the length of the text
 *
 * Errors: 54000 if the text is longer than MAX_TEXT_BYTES, and import() was
 * called without a table for rejected items.
 */
const char *
text_problem(const Import *import, ItemType type, StagedColumn column,
				int64 bytes)
{
	const char *name = source_column[type][column];

	if (bytes > MAX_TEXT_BYTES && !OidIsValid(import->rejects))
		text_too_long(name);
	if (column == STAGED_USERNAME)
		return bytes <= MAX_FOLDED_BYTES ? NULL : "username is too long";
	if (column == STAGED_TITLE)
		return title_may_fit(bytes) ? NULL : TITLE_TOO_LONG;
	return bytes > MAX_TEXT_BYTES ?
		psprintf("%s is longer than %d MB", name, MAX_TEXT_MB) : NULL;
}

static Datum
text_beginning(Datum value)
{
	/*
	 * Fetch more bytes than needed. If the slice ends inside a character,
	 * characters_clip() stops before that character.
	 */
	struct varlena *slice =
		PG_DETOAST_DATUM_SLICE(value, 0, (CUT_LENGTH + 1) * character_longest());

	const char *data = VARDATA_ANY(slice);
	int			bytes = characters_clip(data, VARSIZE_ANY_EXHDR(slice), CUT_LENGTH);

	return PointerGetDatum(cstring_to_text_with_len(data, bytes));
}

/*
 * Cut all texts of a row that are too long, and remove blanks at the ends of a
 * username. Returns the reason for rejecting the row if a title or content is
 * too long; else NULL. A user whose name is too long is not rejected, but gets
 * another name. Errors: 54000.
 */
const char *
row_cut_texts(const Import *import, ItemType type, StagedRow *row)
{
	const char *problem = NULL;

	for (StagedColumn c = STAGED_USERNAME; c <= STAGED_CONTENT; c++)
	{
		const char *why;

		if (source_column[type][c] == NULL || row->isnull[c])
			continue;
		why = text_problem(import, type, c,
							  toast_raw_datum_size(row->value[c]) - VARHDRSZ);
		if (why == NULL && c == STAGED_USERNAME)
			row->value[c] = username_trim(row->value[c]);
		if (why == NULL && c == STAGED_TITLE && !title_fits(row->value[c]))
			why = TITLE_TOO_LONG;
		if (why != NULL)
		{
			row->value[c] = text_beginning(row->value[c]);
			if (c != STAGED_USERNAME)
				problem = why;
		}
	}
	return problem;
}

/*
 * Make an item from a row.
 *
 * prop: for each of the first nprops columns of the row, its field
 */
void
row_item(TupleTableSlot *slot, const Property *prop, int nprops,
		 BlogItem *item)
{
	memset(item, 0, sizeof(*item));
	memset(item->isnull, true, sizeof(item->isnull));
	slot_getallattrs(slot);
	for (int i = 0; i < nprops; i++)
	{
		item->value[prop[i]] = slot->tts_values[i];
		item->isnull[prop[i]] = slot->tts_isnull[i];
	}
}

/*
 * Return whether a row and the existing item "there" have different values of
 * a field. A NULL in the row counts as equal.
 */
bool
row_gives_another(const BlogItem *row, const BlogItem *there, Property prop)
{
	BlogItem	given;

	if (row->isnull[prop])
		return false;
	if (prop == PROP_HIDDEN)
		return item_hidden(row) != item_hidden(there);
	if (prop != PROP_PROPERTIES)
		return !item_same(row, there, prop);
	set_properties(&given, row->value[prop]);
	return !item_same(&given, there, prop);
}

/* Return the reason for rejecting a row because of its values, or NULL. */
const char *
row_problem(ItemType type, const StagedRow *row)
{
	for (int c = 0; c < STAGED_CREATION_DATE; c++)
		if (source_column[type][c] != NULL && row->isnull[c])
			return psprintf("%s must not be null", source_column[type][c]);
	if (type == ITEM_COMMENT_LIKE && row->isnull[STAGED_COMMENT_ID])
		return "comment_id must not be null";
	if (type == ITEM_FOLLOW &&
		memcmp(DatumGetUUIDP(row->value[STAGED_USER_ID]),
			   DatumGetUUIDP(row->value[STAGED_FOLLOWED_ID]), UUID_LEN) == 0)
		return "followed_id must be another user's";
	if (type == ITEM_POST && is_empty(row->value[STAGED_TITLE]))
		return "title must not be empty";
	if (type == ITEM_COMMENT && is_empty(row->value[STAGED_CONTENT]))
		return "content must not be empty";
	if (!row->isnull[STAGED_PROPERTIES])
	{
		const char *rule;
		const char *why = properties_problem(row->value[STAGED_PROPERTIES], &rule);

		if (why != NULL)
			return why;
	}
	if (!row->isnull[STAGED_CREATION_DATE] &&
		TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(row->value[STAGED_CREATION_DATE])))
		return "creation_date must be finite";
	if (!row->isnull[STAGED_MODIFICATION_DATE] &&
		TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(row->value[STAGED_MODIFICATION_DATE])))
		return "modification_date must be finite";
	if (!row->isnull[STAGED_PUBLISH_DATE] &&
		TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(row->value[STAGED_PUBLISH_DATE])))
		return "publish_date must be finite";
	if (!row->isnull[STAGED_PARENT_ID] &&
		memcmp(DatumGetUUIDP(row->value[STAGED_PARENT_ID]),
			   DatumGetUUIDP(row->value[STAGED_ID]), UUID_LEN) == 0)
		return "parent_id must be another comment's";
	if (!row->isnull[STAGED_PARENT_ID] &&
		memcmp(DatumGetUUIDP(row->value[STAGED_PARENT_ID]),
			   DatumGetUUIDP(row->value[STAGED_POST_ID]), UUID_LEN) == 0)
		return "parent_id must be a comment's, not the post's";
	if (type == ITEM_COMMENT &&
		memcmp(DatumGetUUIDP(row->value[STAGED_POST_ID]),
			   DatumGetUUIDP(row->value[STAGED_ID]), UUID_LEN) == 0)
		return "comment_id must not be the post's id";
	return NULL;
}
