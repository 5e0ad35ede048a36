/*
 * sources.h
 *		Bulk import: reading a site's tables and documents into temporary
 *		tables, and running statements on these.
 *
 * A source is a table or view that the caller of import() passes. A source
 * row, or row for short, is a row of a source. It has the values of an item in
 * its columns, or contains a JSON document. The import makes an item from it.
 * A key is a number or text by which the site identifies an item. The import
 * makes the item's id from the key.
 */
#ifndef BLOGSTORE_SOURCES_H
#define BLOGSTORE_SOURCES_H

#include "base/compat.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"

#include "common/cryptohash.h"
#include "tcop/dest.h"
#include "utils/jsonb.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#define N_IMPORTED (ITEM_FOLLOW + 1)

/*
 * Return whether import() has a source for items of a type. Likes of posts and
 * likes of comments come from one source, that of ITEM_LIKE.
 */
static inline bool
has_source(ItemType type)
{
	return type != ITEM_COMMENT_LIKE;
}

/*
 * The columns of the import's temporary tables. Those before STAGED_PARTITION
 * are read from the source. Those before STAGED_PROPERTIES are required.
 */
typedef enum StagedColumn
{
	STAGED_ID,
	STAGED_POST_ID,
	STAGED_USER_ID,
	STAGED_FOLLOWED_ID,
	STAGED_USERNAME,
	STAGED_TITLE,
	STAGED_CONTENT,
	STAGED_CREATION_DATE,

	STAGED_PROPERTIES,

	STAGED_HIDDEN,
	STAGED_MODIFICATION_DATE,
	STAGED_PUBLISH_DATE,
	STAGED_PARENT_ID,
	STAGED_COMMENT_ID,			/* for a like of a comment: the id of the
								 * comment */

	/* why the row is rejected; NULL if it is not */
	STAGED_REASON,

	/* the number of the partition that takes the item */
	STAGED_PARTITION,
	/* the key of the username in the table "usernames" */
	STAGED_NAME_KEY,
	/*
	 * Another name for a user who cannot get the name in the source
	 * (other_name.c), and the key of this other name.
	 */
	STAGED_OTHER_NAME,

	STAGED_OTHER_KEY,

	/*
	 * true if the name in the source is invalid, so that the other name is
	 * used
	 */
	STAGED_RENAMED
} StagedColumn;

#define N_STAGED (STAGED_RENAMED + 1)
#define N_READ STAGED_PARTITION
#define N_NEEDED STAGED_PROPERTIES

typedef struct StagedRow
{
	Datum		value[N_STAGED];
	bool		isnull[N_STAGED];
} StagedRow;

/* The numbers of source rows of one type. */
typedef struct ImportTally
{
	int64		read;
	int64		rejected;
	int64		present;		/* rows equal to existing items */

	/* rows that have changed an existing item */
	int64		updated;
	int64		written;
} ImportTally;

/* the tables of blogstore that the import's statements read */
typedef enum ImportRead
{
	READ_USERS,
	READ_USERNAMES,
	READ_POSTS,
	READ_DELETING,				/* the users who are being deleted */
	READ_FOLLOWS,
	READ_FOLLOWERS				/* users, and how many users each follows */
} ImportRead;

#define N_IMPORT_READS (READ_FOLLOWERS + 1)

struct ImportTarget;

typedef struct Import
{
	const char *command;		/* the SQL function's name, for messages */
	char		prefix[NAMEDATALEN];	/* the beginning of the names of the
										 * import's temporary tables */
	TimestampTz now;

	/*
	 * the table for rejected items, which the caller of import() may pass;
	 * InvalidOid if there is none
	 */
	Oid			rejects;

	/*
	 * The argument key_prefix of import(). It is put before each key, so that
	 * equal keys of two sites become different ids.
	 */
	const char *key_prefix;
	int			prefix_length;

	/*
	 * The argument "guest" of import(): the user who becomes the author of
	 * posts and comments without an author; or NULL.
	 */
	pg_uuid_t  *guest;

	/* true to edit existing items that differ; false to reject their rows */
	bool		update;

	/* whether the source of posts has the column publish_date */
	bool		schedules;

	/*
	 * the functions that differ between one machine and a cluster (import.h)
	 */
	const struct ImportTarget *target;

	/*
	 * For each ImportRead, on a cluster: the temporary table with a copy of
	 * the table's rows. NULL: statements read the table itself.
	 */
	const char *reads[N_IMPORT_READS];

	/*
	 * The argument "extra" of import(): the names of columns that become part
	 * of "properties".
	 */
	List	   *extra;

	/*
	 * For each source: an array of the names of columns that are not imported.
	 */
	Datum		left_out[N_IMPORTED];

	/*
	 * The temporary tables for the source rows of each type, and for rejected
	 * items. They are open only while the sources are read.
	 */
	Relation	staged[N_IMPORTED];
	Relation	rejected;

	/* source rows of new comments and likes, after the check */
	Tuplestorestate *passed[N_IMPORTED];
	TupleDesc	passed_desc[N_IMPORTED];

	/* source rows that will change existing comments */
	Tuplestorestate *changed;

	/*
	 * The posts that the import has hidden: a list of BlogItem.
	 * import_hide_posts() removes these posts from the views.
	 */
	List	   *hidden;

	ImportTally tally[N_IMPORTED];
	ImportTally untyped;		/* counts documents without a known type */

	/*
	 * counts users who get, or already have, another name than in the source
	 */
	ImportTally renamed;
} Import;

/* What import_phase_end() restores: the current user and the settings. */
typedef struct ImportPhase
{
	OwnerScope	scope;
	int			nest;
} ImportPhase;

/* import_statements.c */
extern void import_phase_settings(ImportPhase *phase);
extern void import_phase_begin(ImportPhase *phase);
extern void import_phase_end(ImportPhase *phase);
extern int64 import_run(const Import *import, const char *sql);
extern void import_run_named(const Import *import, const char *before,
							 const char *name, const char *after);
extern int64 import_run_number(const Import *import, const char *sql);
extern int64 import_result(int column);
extern void import_receiver_init(DestReceiver *receiver,
								 bool (*receive) (TupleTableSlot *slot,
												  DestReceiver *self),
								 void (*shutdown) (DestReceiver *self));
extern int64 import_run_into(const Import *import, const char *sql,
							 DestReceiver *receiver);
extern int64 import_run_query(const Import *import, const char *sql,
							  DestReceiver *receiver);
extern TupleTableSlot *import_keep_rows(const Import *import, const char *sql,
										Tuplestorestate **rows);
extern int64 import_run_each(const Import *import, const char *sql,
							 DestReceiver *receiver);
extern COMPAT_NORETURN void import_outdated(const Import *import,
											const char *what);

/* temp_tables.c */
typedef struct TempWriter TempWriter;

extern Relation temp_table_open(const Import *import, const char *name);
extern TempWriter *temp_writer_begin(Relation rel);
extern TupleTableSlot *temp_writer_slot(TempWriter *writer);
extern void temp_writer_put(TempWriter *writer);
extern void temp_writer_copy(TempWriter *writer, TupleTableSlot *row);
extern void temp_writer_end(TempWriter *writer);

/* staging.c */
extern const char *plural_name(ItemType type);
extern char *quoted_relation(Oid relid);
extern void need_columns(Oid relid, const char *role, int n,
						 const char *const *columns);
extern void need_items(const Import *import, ItemType type, Oid source);
extern char *need_documents(Oid relid);
extern void stage_open(Import *import);
extern void stage_close(Import *import);
extern void stage_table(Import *import, ItemType type, Oid source);
extern void stage_documents(Import *import, Oid source, const char *column);

/* row_check.c */
extern const char *const source_column[N_IMPORTED][N_READ];
extern bool source_has(ItemType type, Oid source, StagedColumn column);
extern Oid	source_type(ItemType type, Oid source, StagedColumn column);
extern const char *text_problem(const Import *import, ItemType type,
								StagedColumn column, int64 bytes);
extern const char *row_cut_texts(const Import *import, ItemType type,
								 StagedRow *row);
extern const char *row_problem(ItemType type, const StagedRow *row);
extern void row_item(TupleTableSlot *slot, const Property *prop, int nprops,
					 BlogItem *item);
extern bool row_gives_another(const BlogItem *row, const BlogItem *there,
							  Property prop);

/* other_name.c */
extern Datum other_name(Datum given, const pg_uuid_t *user_id);

/* key_id.c */
extern const char *key_id_make(pg_cryptohash_ctx *hash, ItemType type,
							   const char *key, int length, pg_uuid_t *id);
extern bool text_is_uuid(const char *text, int length);

typedef struct SourceKeys
{
	const Import *import;
	ItemType	type;			/* the type of items in the source */
	bool		any;			/* true if at least one column contains keys */

	bool		is_key[N_READ];

	pg_cryptohash_ctx *hash;
} SourceKeys;

extern void source_keys_find(const Import *import, ItemType type, Oid source,
							 bool *is_key);
extern char *source_key_select(ItemType type, Oid source, StagedColumn column);
extern void source_keys_begin(SourceKeys *keys, const Import *import,
							  ItemType type, Oid source);
extern const char *source_keys_map(const SourceKeys *keys, StagedRow *row);
extern void source_keys_end(SourceKeys *keys);

/* extra_columns.c */
extern void extra_columns_get(Import *import, Datum argument);
extern void extra_columns_need(const Import *import, const Oid *source);
extern char *extra_columns_select(const Import *import, ItemType type,
								  Oid source);
extern const char *extra_columns_add(StagedRow *row, Datum extra);
extern Datum left_out_columns(const Import *import, ItemType type, Oid source);

/* source_json.c */
extern const char *source_json_parse(Datum json, Datum *jsonb);

/* source_document.c */
extern bool source_date_parse(char *text, TimestampTz *date);
extern const char *document_parse(const Import *import, Jsonb *document,
								  ItemType *type, bool *typed, StagedRow *row);

#endif							/* BLOGSTORE_SOURCES_H */
