/*
 * sources.h
 *		Reading a site's tables and documents into temporary tables, and
 *		running statements over these.
 *
 * A source is a table or view of the caller, with rows that become items of
 * one type, or with JSON documents. A row keeps the source's values until it
 * is written as an item. A key is a number or text by which the site
 * identifies an item; ids are made from keys.
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

/* The types of items that are imported: users, posts, comments and likes. */
#define N_IMPORTED (ITEM_LIKE + 1)

/* The columns of the temporary tables into which sources are read. */
typedef enum StagedColumn
{
	STAGED_ID,
	STAGED_POST_ID,
	STAGED_USER_ID,
	STAGED_USERNAME,
	STAGED_TITLE,
	STAGED_CONTENT,
	STAGED_CREATION_DATE,

	/* This column and the following ones are optional in a source. */
	STAGED_PROPERTIES,

	STAGED_HIDDEN,
	STAGED_MODIFICATION_DATE,
	STAGED_PARENT_ID,

	/* Why the row is rejected; NULL if nothing wrong has been found yet. */
	STAGED_REASON,

	STAGED_PARTITION,			/* partition of the row's item */
	STAGED_NAME_KEY,			/* key by which usernames are compared */
	/* The name that a user gets if the source's name is taken, and its key. */
	STAGED_OTHER_NAME,

	STAGED_OTHER_KEY,

	/*
	 * True if the user got the other name, because the source's is not valid.
	 */
	STAGED_RENAMED
} StagedColumn;

#define N_STAGED (STAGED_RENAMED + 1)
#define N_READ STAGED_PARTITION /* the columns before this one are read */
/* the columns before this one are required */
#define N_NEEDED STAGED_PROPERTIES

/* A row of a source, as it is written to a temporary table. */
typedef struct StagedRow
{
	Datum		value[N_STAGED];
	bool		isnull[N_STAGED];
} StagedRow;

/* How many items of a type there are with each result. */
typedef struct ImportTally
{
	int64		read;
	int64		rejected;
	int64		present;		/* exist with the row's values */
	int64		updated;		/* exist with other values, to be updated */
	int64		written;
} ImportTally;

/* The tables of the containers that an import's statements read. */
typedef enum ImportRead
{
	READ_USERS,
	READ_USERNAMES,
	READ_POSTS,
	READ_DELETING				/* users who are being deleted */
} ImportRead;

#define N_IMPORT_READS (READ_DELETING + 1)

struct ImportTarget;			/* defined in import/import.h */

typedef struct Import
{
	const char *command;		/* the SQL function's name, for messages */
	char		prefix[NAMEDATALEN];	/* begins names of temporary tables */
	TimestampTz now;

	/* The caller's table for rejected items; InvalidOid if there is none. */
	Oid			rejects;

	/*
	 * Put before each key when an id is made from it, so that two sites can
	 * have items with the same keys.
	 */
	const char *key_prefix;
	int			prefix_length;

	/*
	 * The author of posts and comments that have none; NULL if the caller has
	 * not named one.
	 */
	pg_uuid_t  *guest;

	/* True if existing items that differ are updated, rather than rejected. */
	bool		update;

	/* How items are looked up and written, on one machine or on a cluster. */
	const struct ImportTarget *target;

	/*
	 * For each table of blogstore's that the import's statements read: the
	 * name of the table to read in its place; NULL to read the table itself.
	 */
	const char *reads[N_IMPORT_READS];

	/* Names of the source columns that become properties. */
	List	   *extra;

	/* Names of the columns of each source that are not imported; an array. */
	Datum		left_out[N_IMPORTED];

	/*
	 * The temporary tables for the rows of each type, and for rejected items.
	 * They are open while sources are read.
	 */
	Relation	staged[N_IMPORTED];
	Relation	rejected;

	/* Rows of new comments and likes that the checks have accepted. */
	Tuplestorestate *passed[N_IMPORTED];
	TupleDesc	passed_desc[N_IMPORTED];

	/* Rows of existing comments that the import updates. */
	Tuplestorestate *changed;

	/* Posts that the import has hidden, to be removed from the views. */
	List	   *hidden;

	ImportTally tally[N_IMPORTED];
	ImportTally untyped;		/* documents without a known type */

	/* Users who do not have the name that the source gives. */
	ImportTally renamed;
} Import;

/*
 * A part of the import that acts as the containers' owner, with settings for
 * its statements.
 */
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

/* source_keys.c: replaces the keys of a source by ids */
typedef struct SourceKeys
{
	const Import *import;
	ItemType	type;			/* the type of the source's items */
	bool		any;			/* true if some column contains keys */

	/* For each column, true if it contains keys; they are read as texts. */
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
