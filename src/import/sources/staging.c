/*
 * staging.c
 *		Bulk import: reads sources into temporary tables.
 *
 * Each source is read by a statement with the rights and settings of
 * import()'s caller. So views, policies and casts run as the caller. A
 * receiver checks the values of each row (row_check.c), and writes the row to
 * a temporary table.
 *
 * The temporary tables belong to the containers' owner, and the owner's
 * statements read them later. The caller has no rights on them, and so cannot
 * add a policy or trigger that would run as the owner. The tables are kept
 * open while the caller's code runs. So this code can neither drop them (by
 * DISCARD TEMP) nor replace them.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/progress.h"
#include "base/settings.h"
#include "import/sources/sources.h"
#include "model/user_follows.h"
#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

typedef struct StageReceiver
{
	DestReceiver pub;
	Import	   *import;

	/* the type of items in the source; unused if "documents" is true */
	ItemType	type;

	bool		documents;		/* true if each row is a JSON document, which
								 * contains the item's type */

	/*
	 * true if documents are read as text, to be parsed later; false if they
	 * are of type jsonb
	 */
	bool		text_documents;

	bool		json[N_READ];	/* for each column: true if the column is JSON
								 * that is read as text */

	/* for each column: true if the column is a date that is read as text */
	bool		date[N_READ];

	/*
	 * true if the last column of each row contains the extra columns, as the
	 * text of a JSON object (extra_columns.c)
	 */
	bool		extra;

	SourceKeys	keys;			/* which columns contain keys; unused if
								 * "documents" is true */
	TempWriter *row[N_IMPORTED];
	TempWriter *rejected;
	MemoryContext context;		/* reset after each row */
} StageReceiver;

static const char *const staged_type[N_READ] = {
	"uuid", "uuid", "uuid", "uuid", "text", "text", "text", "timestamptz",
	"jsonb", "bool", "timestamptz", "timestamptz", "uuid", "uuid", "text"
};

const char *
plural_name(ItemType type)
{
	static const char *const name[N_IMPORTED] = {
		"users", "posts", "comments", "likes", "likes of comments", "follows"
	};

	return name[type];
}

/* Return the quoted name of a relation and its schema. Errors: 42P01. */
char *
quoted_relation(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid),
				 errhint("Pass the name of a table or view.")));
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  name);
}

/*
 * Throw an error unless a relation is a table or view with the columns in
 * columns[]. NULLs in columns[] are ignored. Errors: 42703, 42809, 42P01.
 *
 * role: the name of the argument of import(), for messages
 */
void
need_columns(Oid relid, const char *role, int n, const char *const *columns)
{
	char	   *name = quoted_relation(relid);
	char		kind = get_rel_relkind(relid);
	StringInfoData all;

	if (kind != RELKIND_RELATION && kind != RELKIND_VIEW &&
		kind != RELKIND_MATVIEW && kind != RELKIND_FOREIGN_TABLE &&
		kind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("%s is not a table or view", name),
				 errhint("Pass the name of a table or view.")));
	initStringInfo(&all);
	for (int i = 0; i < n; i++)
		if (columns[i] != NULL)
			appendStringInfo(&all, "%s%s", all.len > 0 ? ", " : "",
							 columns[i]);
	for (int i = 0; i < n; i++)
		if (columns[i] != NULL &&
			get_attnum(relid, columns[i]) == InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("%s has no column \"%s\"", name, columns[i]),
					 errhint("To be used as %s, it needs the columns %s. A view can rename columns.",
							 role, all.data)));
}

/*
 * Return the number of the partition that takes a row's item; NO_PARTITION if
 * there is none. On a cluster, the partition may be on another node.
 */
static int
row_partition(ItemType type, const StagedRow *row)
{
	if (type == ITEM_USER || type == ITEM_FOLLOW)
		return partition_taking(CONTAINER_USERS, type,
								DatumGetUUIDP(row->value[STAGED_USER_ID]));
	return partition_taking(CONTAINER_POSTS, type,
							DatumGetUUIDP(row->value[STAGED_POST_ID]));
}

/*
 * For a user's row, set the key of the username, the other name that
 * other_name() makes, and the key of the other name. If the username is not
 * valid, replace it by the other name, and set STAGED_RENAMED to true.
 */
static void
name_user(StagedRow *row)
{
	Datum		other = other_name(row->value[STAGED_USERNAME],
								   DatumGetUUIDP(row->value[STAGED_USER_ID]));
	bool		renamed = !is_username(row->value[STAGED_USERNAME]);

	if (renamed)
		row->value[STAGED_USERNAME] = other;
	row->value[STAGED_NAME_KEY] = name_key(row->value[STAGED_USERNAME]);
	row->value[STAGED_OTHER_NAME] = other;
	row->value[STAGED_OTHER_KEY] = name_key(other);
	row->value[STAGED_RENAMED] = BoolGetDatum(renamed);
	for (StagedColumn c = STAGED_NAME_KEY; c <= STAGED_RENAMED; c++)
		row->isnull[c] = false;
}

/*
 * Set the columns "hidden" and "creation_date" of a post's row that has a
 * publish_date. If the date has not come, the post becomes hidden. Otherwise
 * the post is shown, and the publish_date becomes its creation date.
 */
static void
schedule_row(const Import *import, StagedRow *row)
{
	Datum		date = row->value[STAGED_PUBLISH_DATE];
	bool		due = DatumGetTimestampTz(date) <= import->now;

	row->value[STAGED_HIDDEN] = BoolGetDatum(!due);
	row->isnull[STAGED_HIDDEN] = false;
	if (!due)
		return;
	row->value[STAGED_CREATION_DATE] = date;
	row->isnull[STAGED_CREATION_DATE] = false;
	row->isnull[STAGED_PUBLISH_DATE] = true;
}

/*
 * Check the values of a row, and write the row to the temporary table for its
 * type.
 *
 * problem: a reason for rejecting the row that the caller has found; or NULL
 */
static void
stage_row(StageReceiver *receiver, ItemType type, StagedRow *row,
		  const char *problem)
{
	Import	   *import = receiver->import;
	TupleTableSlot *slot = temp_writer_slot(receiver->row[type]);
	const char *too_long = row_cut_texts(import, type, row);

	if (problem == NULL)
		problem = row_problem(type, row);
	if (problem == NULL)
		problem = too_long;
	if (problem == NULL && !row->isnull[STAGED_PUBLISH_DATE])
		schedule_row(import, row);
	row->isnull[STAGED_REASON] = problem == NULL;
	if (problem != NULL)
		row->value[STAGED_REASON] = CStringGetTextDatum(problem);
	row->isnull[STAGED_PARTITION] = problem != NULL;
	if (problem == NULL)
		row->value[STAGED_PARTITION] = Int32GetDatum(row_partition(type, row));
	for (StagedColumn c = STAGED_NAME_KEY; c <= STAGED_RENAMED; c++)
		row->isnull[c] = true;
	if (problem == NULL && type == ITEM_USER)
		name_user(row);
	memcpy(slot->tts_values, row->value, sizeof(row->value));
	memcpy(slot->tts_isnull, row->isnull, sizeof(row->isnull));
	temp_writer_put(receiver->row[type]);
	import->tally[type].read++;
}

/*
 * Write a malformed document, unchanged, to the temporary table of rejected
 * items.
 *
 * type: the item's type in the document; NULL if it is missing or unknown
 */
static void
reject_document(StageReceiver *receiver, const char *type, const char *reason,
				bool isnull, Datum document)
{
	TupleTableSlot *slot = temp_writer_slot(receiver->rejected);

	slot->tts_isnull[0] = type == NULL;
	if (type != NULL)
		slot->tts_values[0] = CStringGetTextDatum(type);
	slot->tts_isnull[1] = false;
	slot->tts_values[1] = CStringGetTextDatum(reason);
	slot->tts_isnull[2] = isnull;
	slot->tts_values[2] = document;
	temp_writer_put(receiver->rejected);
}

static void
stage_document(StageReceiver *receiver, Datum value, bool isnull)
{
	Import	   *import = receiver->import;
	ImportTally *tally = &import->untyped;
	const char *problem = "the document is null";
	StagedRow	row;
	ItemType	type = ITEM_USER;
	bool		typed = false;

	if (!isnull)
	{
		const char *broken = receiver->text_documents ?
			source_json_parse(value, &value) : NULL;

		problem = document_parse(import, DatumGetJsonbP(value), &type, &typed,
								 &row);
		if (broken != NULL)
			problem = psprintf("the document %s", broken);
	}
	if (problem == NULL)
	{
		stage_row(receiver, type, &row, NULL);
		return;
	}
	if (typed)
		tally = &import->tally[type];
	tally->read++;
	tally->rejected++;
	reject_document(receiver, typed ? item_type_name(type) : NULL, problem,
					isnull, value);
}

/*
 * Make the guest the author of a post or comment without an author. Returns an
 * error message if the caller of import() has named no guest; else NULL. Does
 * nothing for users and likes.
 */
static const char *
give_author(const StageReceiver *receiver, StagedRow *row)
{
	const Import *import = receiver->import;

	if (receiver->type != ITEM_POST && receiver->type != ITEM_COMMENT)
		return NULL;
	if (import->guest == NULL)
		return "user_id must not be null: pass guest to give such items an author";
	row->value[STAGED_USER_ID] = UUIDPGetDatum(import->guest);
	row->isnull[STAGED_USER_ID] = false;
	return NULL;
}

/*
 * Parse the dates and JSON values that were read as text. A cast in the
 * statement would instead make the whole import fail if one text is invalid.
 * Returns an error message about the first invalid text; NULL if all are
 * valid. An invalid date becomes NULL.
 */
static const char *
parse_texts(const StageReceiver *receiver, StagedRow *row)
{
	const char *problem = NULL;
	const char *why;
	TimestampTz date;

	for (StagedColumn c = 0; c < N_READ; c++)
	{
		const char *name = source_column[receiver->type][c];

		if (row->isnull[c] || !(receiver->date[c] || receiver->json[c]))
			continue;
		if (receiver->json[c])
			why = source_json_parse(row->value[c], &row->value[c]);
		else
		{
			row->isnull[c] = !source_date_parse(TextDatumGetCString(row->value[c]), &date);
			row->value[c] = TimestampTzGetDatum(date);
			why = row->isnull[c] ? "is no date" : NULL;
		}
		if (why != NULL && problem == NULL)
			problem = psprintf("%s %s", name, why);
	}
	return problem;
}

static const char *
first_problem(const char *one, const char *other)
{
	return one ? one : other;
}

/*
 * Return the type of the item in a row: that of the source. A row of the
 * source of likes is a like of a comment if it has a comment_id.
 */
static ItemType
row_type(const StageReceiver *receiver, TupleTableSlot *slot)
{
	return receiver->type == ITEM_LIKE && !slot->tts_isnull[STAGED_COMMENT_ID] ?
		ITEM_COMMENT_LIKE : receiver->type;
}

static void
stage_item(StageReceiver *receiver, TupleTableSlot *slot)
{
	const char *problem = NULL;
	const char *why;
	bool		no_author = slot->tts_isnull[STAGED_USER_ID];
	StagedRow	row;

	memcpy(row.value, slot->tts_values, sizeof(Datum) * N_READ);
	memcpy(row.isnull, slot->tts_isnull, sizeof(bool) * N_READ);
	if (!row.isnull[STAGED_REASON])
		problem = TextDatumGetCString(row.value[STAGED_REASON]);
	problem = first_problem(problem, parse_texts(receiver, &row));
	if (receiver->extra)
	{
		why = extra_columns_add(&row, slot->tts_values[N_READ]);
		if (why != NULL)
			problem = first_problem(problem, psprintf("a column of extra %s", why));
	}
	if (receiver->keys.any)
		problem = first_problem(problem, source_keys_map(&receiver->keys, &row));
	if (no_author)
		problem = first_problem(problem, give_author(receiver, &row));
	stage_row(receiver, row_type(receiver, slot), &row, problem);
}

static bool
receiver_receive(TupleTableSlot *slot, DestReceiver *self)
{
	StageReceiver *receiver = (StageReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);

	progress_add(1);
	slot_getallattrs(slot);
	if (receiver->documents)
		stage_document(receiver, slot->tts_values[0], slot->tts_isnull[0]);
	else
		stage_item(receiver, slot);
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->context);
	return true;
}

static void
receiver_shutdown(DestReceiver *self)
{
	StageReceiver *receiver = (StageReceiver *) self;

	for (int t = 0; t < N_IMPORTED; t++)
		temp_writer_end(receiver->row[t]);
	temp_writer_end(receiver->rejected);
	source_keys_end(&receiver->keys);
	MemoryContextDelete(receiver->context);
}

static void
receiver_init(StageReceiver *receiver, Import *import)
{
	memset(receiver, 0, sizeof(*receiver));
	import_receiver_init(&receiver->pub, receiver_receive, receiver_shutdown);
	receiver->import = import;
	receiver->context = AllocSetContextCreate(CurrentMemoryContext,
											  "blogstore staged row",
											  ALLOCSET_DEFAULT_SIZES);
	for (int t = 0; t < N_IMPORTED; t++)
		receiver->row[t] = temp_writer_begin(import->staged[t]);
	receiver->rejected = temp_writer_begin(import->rejected);
}

void
stage_open(Import *import)
{
	for (int t = 0; t < N_IMPORTED; t++)
		import->staged[t] = temp_table_open(import, item_type_name(t));
	import->rejected = temp_table_open(import, "rejected");
}

/* Close the temporary tables. They stay locked until the transaction ends. */
void
stage_close(Import *import)
{
	for (int t = 0; t < N_IMPORTED; t++)
		table_close(import->staged[t], NoLock);
	table_close(import->rejected, NoLock);
}

/*
 * Throw an error unless an optional column has one of two types. A column of
 * another type may have another meaning. For example, a wrong guess about the
 * column "hidden" could publish hidden items. Errors: 42804.
 */
static void
need_type(ItemType type, Oid source, StagedColumn column, Oid wanted,
		  Oid other)
{
	const char *name = source_column[type][column];
	Oid			of = getBaseType(get_atttype(source, get_attnum(source, name)));

	if (of != wanted && of != other)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of \"%s\" is of type %s", name,
						get_rel_name(source), format_type_be(of)),
				 errhint("It must be of type %s. A view can cast the column or leave it out.",
						 format_type_be(wanted))));
}

/*
 * Throw an error unless a source has the required columns for a type of item,
 * and all columns have suitable types. Errors: 42703, 42804, 42809, 42P01.
 */
void
need_items(const Import *import, ItemType type, Oid source)
{
	bool		is_key[N_READ];

	need_columns(source, plural_name(type), N_NEEDED, source_column[type]);
	source_keys_find(import, type, source, is_key);
	if (source_has(type, source, STAGED_PROPERTIES))
		need_type(type, source, STAGED_PROPERTIES, JSONBOID, JSONOID);
	if (source_has(type, source, STAGED_HIDDEN))
		need_type(type, source, STAGED_HIDDEN, BOOLOID, BOOLOID);
	if (source_has(type, source, STAGED_MODIFICATION_DATE))
		need_type(type, source, STAGED_MODIFICATION_DATE, TIMESTAMPTZOID,
				  TIMESTAMPOID);
	if (source_has(type, source, STAGED_PUBLISH_DATE))
		need_type(type, source, STAGED_PUBLISH_DATE, TIMESTAMPTZOID,
				  TIMESTAMPOID);
}

/*
 * Return whether date columns of this type are read as text, to be parsed
 * later. An invalid date then rejects only its own item. A cast would make the
 * whole import fail.
 */
static bool
date_is_text(Oid of)
{
	char		category;
	bool		preferred;

	if (of == TIMESTAMPOID || of == DATEOID)
		return true;
	if (!OidIsValid(of))
		return false;
	get_type_category_preferred(of, &category, &preferred);
	return category == TYPCATEGORY_STRING;
}

/*
 * Return an SQL expression for a column of a source, which must have the alias
 * s. Set receiver->json[column] or receiver->date[column] to true if the
 * result is a text to be parsed later.
 */
static char *
column_select(StageReceiver *receiver, Oid source, StagedColumn column)
{
	const char *name = source_column[receiver->type][column];
	Oid			of;

	if (!source_has(receiver->type, source, column))
		return psprintf("NULL::pg_catalog.%s",
						receiver->keys.is_key[column] ? "text" : staged_type[column]);
	if (receiver->keys.is_key[column])
		return source_key_select(receiver->type, source, column);
	of = source_type(receiver->type, source, column);
	receiver->json[column] = column == STAGED_PROPERTIES && of == JSONOID;
	receiver->date[column] = (column == STAGED_CREATION_DATE ||
							  column == STAGED_MODIFICATION_DATE ||
							  column == STAGED_PUBLISH_DATE) && date_is_text(of);
	return psprintf("s.%s::pg_catalog.%s", name,
					receiver->json[column] || receiver->date[column] ?
					"text" : staged_type[column]);
}

/*
 * Run the statement that reads a source. Parallel plans are disabled, because
 * parsing JSON uses subtransactions (source_json.c). extra_float_digits is set
 * so that floating-point numbers in "properties" keep all digits.
 */
static void
read_source(Import *import, const char *sql, StageReceiver *receiver)
{
	int			nest = NewGUCNestLevel();

	setting_change("max_parallel_workers_per_gather", "0");
	if (extra_float_digits < 1)
		setting_change("extra_float_digits", "1");
	(void) import_run_into(import, sql, &receiver->pub);
	AtEOXact_GUC(true, nest);
}

/*
 * Read a source of items of one type into a temporary table. Runs as the
 * caller of import(). Errors: 42501, 42804, and those of the statement.
 */
void
stage_table(Import *import, ItemType type, Oid source)
{
	StageReceiver receiver;
	StringInfoData sql;
	char	   *extra = extra_columns_select(import, type, source);

	receiver_init(&receiver, import);
	receiver.type = type;
	receiver.extra = extra != NULL;
	source_keys_begin(&receiver.keys, import, type, source);
	initStringInfo(&sql);
	for (StagedColumn c = 0; c < N_READ; c++)
		appendStringInfo(&sql, "%s%s", c == 0 ? "SELECT " : ", ",
						 column_select(&receiver, source, c));
	if (extra != NULL)
		appendStringInfo(&sql, ", %s", extra);
	appendStringInfo(&sql, " FROM %s AS s", quoted_relation(source));
	read_source(import, sql.data, &receiver);
}

/*
 * Return whether columns of this type may contain documents. The type of a
 * dropped column is InvalidOid.
 *
 * texts: true for text and varchar, false for json and jsonb
 */
static bool
is_of_documents(Oid type, bool texts)
{
	if (!OidIsValid(type))
		return false;
	type = getBaseType(type);
	return texts ? type == TEXTOID || type == VARCHAROID :
		type == JSONBOID || type == JSONOID;
}

/*
 * Return the number of columns for which is_of_documents() returns true. Set
 * *last to the name of the last of these columns.
 */
static int
document_columns(Oid relid, bool texts, char **last)
{
	int			found = 0;
	char	   *name;

	for (AttrNumber a = 1; (name = get_attname(relid, a, true)) != NULL; a++)
		if (is_of_documents(get_atttype(relid, a), texts))
		{
			found++;
			*last = name;
		}
	return found;
}

/*
 * Return the name of the column that contains documents. This is the only
 * column of type json or jsonb. If there is none, it is the only column of
 * type text or varchar. Errors: 42703, 42809, 42P01.
 */
char *
need_documents(Oid relid)
{
	char	   *column = NULL;
	int			found;

	need_columns(relid, "documents", 0, NULL);
	found = document_columns(relid, false, &column);
	if (found == 0)
		found = document_columns(relid, true, &column);
	if (found != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("%s has %d columns of documents",
						quoted_relation(relid), found),
				 errhint("Pass a table or view with one column of type jsonb, json or text.")));
	return column;
}

/*
 * Read a source of JSON documents into the temporary tables. Runs as the
 * caller of import_documents(). Errors: 42501, 54000, and those of the
 * statement.
 */
void
stage_documents(Import *import, Oid source, const char *column)
{
	StageReceiver receiver;
	Oid			of = getBaseType(get_atttype(source, get_attnum(source, column)));

	receiver_init(&receiver, import);
	receiver.documents = true;
	receiver.text_documents = of != JSONBOID;
	read_source(import,
				psprintf("SELECT s.%s::pg_catalog.%s FROM %s AS s",
						 quote_identifier(column), receiver.text_documents ? "text" : "jsonb",
						 quoted_relation(source)),
				&receiver);
}
