/*
 * import.h
 *		Bulk import: what its parts share.
 */
#ifndef BLOGSTORE_IMPORT_H
#define BLOGSTORE_IMPORT_H

#include "compat.h"
#include "container/container.h"

#include "utils/jsonb.h"
#include "utils/rel.h"

/* What is imported: items of the first types. */
#define N_IMPORTED (ITEM_LIKE + 1)

/* Columns of the temporary tables that rows are read into. */
typedef enum StagedColumn
{
	STAGED_ID,
	STAGED_POST_ID,
	STAGED_USER_ID,
	STAGED_USERNAME,
	STAGED_TITLE,
	STAGED_CONTENT,
	STAGED_CREATION_DATE,
	STAGED_REASON				/* why it cannot be imported; NULL: not known */
} StagedColumn;

#define N_STAGED (STAGED_REASON + 1)

/* A row on its way there. */
typedef struct StagedRow
{
	Datum		value[N_STAGED];
	bool		isnull[N_STAGED];
} StagedRow;

/* What came of the items of a type. */
typedef struct ImportTally
{
	int64		read;
	int64		rejected;
	int64		present;		/* were there already with the same values */
	int64		written;
} ImportTally;

typedef struct Import
{
	const char *command;		/* for messages */
	char		prefix[NAMEDATALEN];	/* of the temporary tables' names */
	TimestampTz now;
	Oid			rejects;		/* the caller's table; InvalidOid: none */
	Relation	staged[N_IMPORTED]; /* open while sources are read */
	Relation	rejected;		/* likewise */
	ImportTally tally[N_IMPORTED];
	ImportTally untyped;		/* documents of no known type */
} Import;

/* Acting as the containers' owner, with settings fit for that. */
typedef struct ImportPhase
{
	OwnerScope	scope;
	int			nest;
} ImportPhase;

/* import_run.c */
extern void import_phase_settings(ImportPhase *phase);
extern void import_phase_begin(ImportPhase *phase);
extern void import_phase_end(ImportPhase *phase);
extern int64 import_run(const Import *import, const char *sql);
extern void import_run_named(const Import *import, const char *before,
							 const char *name, const char *after);
extern int64 import_run_number(const Import *import, const char *sql);
extern int64 import_result(int column);
extern void import_run_write(const Import *import, const char *sql,
							 int64 rows);
extern COMPAT_NORETURN void import_outdated(const Import *import,
											const char *what);

/* import_stage.c */
extern const char *plural_name(ItemType type);
extern char *quoted_relation(Oid relid);
extern void need_columns(Oid relid, const char *role, int n,
						 const char *const *columns);
extern void need_items(ItemType type, Oid source);
extern char *need_documents(Oid relid);
extern void stage_open(Import *import);
extern void stage_close(Import *import);
extern void stage_table(Import *import, ItemType type, Oid source);
extern void stage_documents(Import *import, Oid source, const char *column);

/* import_document.c */
extern const char *document_parse(Jsonb *document, ItemType *type,
								  bool *typed, StagedRow *row);

/* import_sql.c: the statements; @name is a temporary table, $1 the present */
extern const char *const import_tables_sql[];
extern const int import_tables_n;
extern const char *const import_check_sql[N_IMPORTED];
extern const char *const import_tally_sql[N_IMPORTED];
extern const char *const import_reject_sql[N_IMPORTED];
extern const char *const import_lock_tables_sql;
extern const char *const import_lock_users_sql;
extern const char *const import_write_names_sql;
extern const char *const import_write_sql[N_IMPORTED];
extern const char *const import_count_sql;
extern const char *const import_counted_sql;
extern const char *const import_lock_posts_sql;
extern const char *const import_write_deltas_sql;
extern const char *const import_add_counts_sql;

#endif							/* BLOGSTORE_IMPORT_H */
