/*
 * source_document.c
 *		Bulk import: reads items from JSON documents like those of the article.
 *
 * An invalid document must reject only its own item, so functions return
 * errors in it instead of throwing them. This file parses dates and uuids
 * itself, because on old servers the input functions of these types always
 * throw errors.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "import/sources/sources.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"

#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"

/*
 * for each StagedColumn: the name of the member in documents, such as "postId"
 */
static const char *const property[STAGED_REASON] = {
	"id", "postId", "userId", "followedId", "username", "title", "content",
	"creationDate",
	[STAGED_HIDDEN] = "hidden",
	[STAGED_MODIFICATION_DATE] = "modificationDate",
	[STAGED_PUBLISH_DATE] = "publishDate",
	[STAGED_PARENT_ID] = "parentId",
	[STAGED_COMMENT_ID] = "commentId"
};

/*
 * For each type of item: true for each member in property[] that a document of
 * this type can have.
 */
static const bool has_property[N_IMPORTED][STAGED_REASON] = {
	[ITEM_USER] = {true, false, true, false, true, false, false, true},
	[ITEM_POST] = {true, true, true, false, false, true, true, true,
	[STAGED_HIDDEN] = true, [STAGED_MODIFICATION_DATE] = true,
	[STAGED_PUBLISH_DATE] = true},
	[ITEM_COMMENT] = {true, true, true, false, false, false, true, true,
	[STAGED_HIDDEN] = true, [STAGED_MODIFICATION_DATE] = true,
	[STAGED_PARENT_ID] = true},
	[ITEM_LIKE] = {true, true, true, false, false, false, false, true,
	[STAGED_COMMENT_ID] = true},
	[ITEM_COMMENT_LIKE] = {true, true, true, false, false, false, false, true,
	[STAGED_COMMENT_ID] = true},
	[ITEM_FOLLOW] = {true, false, true, true, false, false, false, true}
};

/* A text with more bytes than this is not parsed as an id or date. */
#define MAX_VALUE_LENGTH 1000

/*
 * Return whether the text of a date contains a special word such as "now",
 * "tomorrow" or "epoch". The import rejects these words. Most of them depend
 * on the time of the import, and no program writes them as a date.
 */
static bool
names_a_moment(const char *text)
{
	char	   *field[MAXDATEFIELDS];
	int			field_type[MAXDATEFIELDS];
	char		work[MAXDATELEN + MAXDATEFIELDS];
	int			n;
	int			value;

	if (ParseDateTime(text, work, sizeof(work), field, field_type,
					  MAXDATEFIELDS, &n) != 0)
		return false;
	for (int i = 0; i < n; i++)
		if ((field_type[i] == DTK_STRING || field_type[i] == DTK_SPECIAL) &&
			DecodeSpecial(i, field[i], &value) == RESERV)
			return true;
	return false;
}

/*
 * Parse the text of a date. Returns false if the text is not a date, or
 * contains a special word such as "now".
 */
bool
source_date_parse(char *text, TimestampTz *date)
{
	return !names_a_moment(text) && compat_parse_timestamptz(text, date);
}

/*
 * Convert the text of a member of a document to the type of its column.
 * Returns false if that is not possible.
 */
static bool
parse_property(StagedColumn column, char *text, Datum *value)
{
	TimestampTz date;

	switch (column)
	{
		case STAGED_ID:
		case STAGED_POST_ID:
		case STAGED_USER_ID:
		case STAGED_FOLLOWED_ID:
		case STAGED_PARENT_ID:
		case STAGED_COMMENT_ID:
			if (!text_is_uuid(text, strlen(text)))
				return false;
			*value = DirectFunctionCall1(uuid_in, CStringGetDatum(text));
			return true;
		case STAGED_CREATION_DATE:
		case STAGED_MODIFICATION_DATE:
		case STAGED_PUBLISH_DATE:
			if (!source_date_parse(text, &date))
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
	switch (column)
	{
		case STAGED_ID:
		case STAGED_POST_ID:
		case STAGED_USER_ID:
		case STAGED_FOLLOWED_ID:
		case STAGED_PARENT_ID:
		case STAGED_COMMENT_ID:
			return "uuid";
		case STAGED_CREATION_DATE:
		case STAGED_MODIFICATION_DATE:
		case STAGED_PUBLISH_DATE:
			return "date";
		case STAGED_HIDDEN:
			return "boolean";
		default:
			return "string";
	}
}

static bool
find_value(Jsonb *document, const char *key, JsonbValue *found)
{
	return getKeyJsonValueFromContainer(&document->root, key, strlen(key),
										found) != NULL &&
		found->type != jbvNull;
}

static bool
is_text(StagedColumn column)
{
	return column >= STAGED_USERNAME && column <= STAGED_CONTENT;
}

/*
 * Read the member for one column from a document into a row. Returns an error
 * message if the member is invalid; else NULL.
 */
static const char *
read_property(const Import *import, Jsonb *document, ItemType type,
			  StagedColumn column, StagedRow *row)
{
	JsonbValue	found;
	const char *problem = NULL;

	if (!find_value(document, property[column], &found))
		return NULL;
	if (column == STAGED_HIDDEN && found.type == jbvBool)
	{
		row->value[column] = BoolGetDatum(found.val.boolean);
		row->isnull[column] = false;
		return NULL;
	}
	if (found.type == jbvString && is_text(column))
		problem = text_problem(import, type, column, found.val.string.len);
	if (problem != NULL)
		return problem;
	if (found.type != jbvString || column == STAGED_HIDDEN ||
		(!is_text(column) && found.val.string.len > MAX_VALUE_LENGTH) ||
		!parse_property(column, pnstrdup(found.val.string.val,
										 found.val.string.len),
						&row->value[column]))
		return psprintf("%s is no %s", property[column], wanted(column));
	row->isnull[column] = false;
	return NULL;
}

/*
 * Return the type of item in the member "type" of a document; N_IMPORTED if
 * there is none.
 */
static int
read_type(Jsonb *document)
{
	JsonbValue	found;
	int			t = 0;

	if (!find_value(document, "type", &found) || found.type != jbvString)
		return N_IMPORTED;
	while (t < N_IMPORTED &&
		   (strlen(item_type_name(t)) != found.val.string.len ||
			memcmp(item_type_name(t), found.val.string.val,
				   found.val.string.len) != 0))
		t++;
	return t;
}

/*
 * The id of a user or post can be in two members of a document: in "id", and
 * in "userId" or "postId". If "userId" or "postId" is missing, set
 * row->value[key] to the value of "id". Returns an error message if the two
 * ids differ; else NULL.
 *
 * key: STAGED_USER_ID for a user, STAGED_POST_ID for a post
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

static bool
has_key(Jsonb *document, const char *key)
{
	JsonbValue	found;

	return getKeyJsonValueFromContainer(&document->root, key, strlen(key),
										&found) != NULL;
}

/*
 * Return a key of a document that cannot be imported, because it is the site's
 * own: commentId, or replyCount without the likeCount that newer comments
 * have. blogstore 0.3 stored such keys in "properties". Returns NULL if there
 * is none.
 */
static const char *
outdated_property(Jsonb *document, ItemType type)
{
	if (is_like(type) || type == ITEM_FOLLOW)
		return NULL;
	if (has_key(document, "commentId"))
		return "commentId";
	return has_key(document, "replyCount") &&
		!(type == ITEM_COMMENT && has_key(document, "likeCount")) ?
		"replyCount" : NULL;
}

/*
 * Read a document into a row, in the current memory context. Returns an error
 * message if the document is malformed; else NULL.
 *
 * typed: set to whether the document has a known type
 * type: set to the type if typed is true
 *
 * Errors: 54000.
 */
const char *
document_parse(const Import *import, Jsonb *document, ItemType *type,
			   bool *typed, StagedRow *row)
{
	const char *key;
	int			t;

	*typed = false;
	if (!JB_ROOT_IS_OBJECT(document))
		return "the document is no object";
	t = read_type(document);
	if (t == N_IMPORTED)
		return "unknown type";
	*type = t;
	*typed = true;

	key = outdated_property(document, t);
	if (key != NULL)
		return psprintf("properties must not have the key \"%s\"", key);
	for (int c = 0; c < N_STAGED; c++)
	{
		row->value[c] = (Datum) 0;
		row->isnull[c] = true;
	}
	for (int c = 0; c < STAGED_REASON; c++)
	{
		const char *problem = NULL;

		if (has_property[t][c])
			problem = read_property(import, document, t, c, row);
		if (problem != NULL)
			return problem;
	}
	if (t == ITEM_LIKE && !row->isnull[STAGED_COMMENT_ID])
		*type = ITEM_COMMENT_LIKE;
	if (!is_like(t) && t != ITEM_FOLLOW)
		row->isnull[STAGED_PROPERTIES] =
			!properties_of_document(document, &row->value[STAGED_PROPERTIES]);
	if (t == ITEM_USER)
		return unite_ids(row, STAGED_USER_ID);
	if (t == ITEM_POST)
		return unite_ids(row, STAGED_POST_ID);
	return NULL;
}
