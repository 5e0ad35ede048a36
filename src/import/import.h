/*
 * import.h
 *		Bulk import: what its parts share, for this folder and cluster/ alone.
 */
#ifndef BLOGSTORE_IMPORT_H
#define BLOGSTORE_IMPORT_H

#include "import/sources/sources.h"

/* Why an item that is there keeps a row out: as a whole, or where rows may update items. */
#define TAKEN "id taken"
#define TAKEN_BY_ANOTHER "id taken by another author"
#define TAKEN_WITH_ANOTHER_DATE "id taken with another creation_date"

/* import.c: an import begins; its sources are read in between; it ends */
extern void import_begin(Import *import, const char *command);
extern void import_end(Import *import, FunctionCallInfo fcinfo);

/* import_known.c */
typedef struct KnownItems KnownItems;

/* Is a row's item there? */
typedef enum KnownState
{
	KNOWN_NEW,
	KNOWN_PRESENT,				/* with the same values */
	KNOWN_CHANGED				/* with others, which are to become the row's */
} KnownState;

extern KnownItems *known_items_begin(ItemType type, bool update,
									 Tuplestorestate *given);
extern const BlogItem *known_items_find(KnownItems *known, const pg_uuid_t *post_id,
										const pg_uuid_t *other);
extern const char *known_items_problem(KnownItems *known, const BlogItem *row,
									   KnownState *state);
extern void known_items_end(KnownItems *known);

/* import_check.c */
extern void import_check(Import *import, ItemType type);

/* import_write.c */
extern void import_write_items(const Import *import, ItemType type,
							   int64 rows);
extern void import_write_counters(const pg_uuid_t *post_id, int n);

/* cluster_import.c: on a cluster, the node where an import is called */
extern TupleDesc import_row_desc(ItemType type);
extern void import_spread_begin(Import *import);
extern void import_spread_end(const Import *import);
extern void import_spread_lock(Import *import);
extern void import_spread_deleting(const Import *import);
extern void import_spread_posts(const Import *import, bool of_children);
extern void import_spread_children(Import *import, ItemType type);
extern int64 import_spread_each(const Import *import, const char *sql,
								DestReceiver *receiver);
extern int64 import_spread_edit(const Import *import, ItemType type,
								const Property *prop, int nprops);
extern void import_spread_keep(const Import *import);
extern Relation import_spool_open(const Import *import, ItemType type);
extern void import_spool_put(TempWriter *writer, ItemType type, const BlogItem *item);
extern void import_spool_write(const Import *import, ItemType type, int64 rows);
extern void import_spread_names(const Import *import);

/* import_edit.c */
extern void import_release_names(const Import *import);
extern void import_edit_users(const Import *import);
extern void import_update_items(Import *import, ItemType type);
extern void import_hide_posts(const Import *import);
extern bool import_edit_one(const Import *import, ItemType type, const BlogItem *wanted);

/*
 * import_sql.c: the statements; @name is a temporary table, $1 the present, $2 whether
 * items that are there become as the source's
 */
extern const char *const import_tables_sql[];
extern const int import_tables_n;
extern const char *const import_check_sql[N_IMPORTED];
extern const char *const import_there_sql;
extern const char *const import_tally_sql[ITEM_POST + 1];
extern const char *const import_reject_sql[N_IMPORTED];
extern const char *const import_lock_tables_sql;
extern const char *const import_refuse_names_sql;
extern const char *const import_held_names_sql;
extern const char *const import_pass_names_sql;
extern const char *const import_old_names_sql;
extern const char *const import_release_names_sql;
extern const char *const import_names_sql;
extern const char *const import_write_names_sql;
extern const char *const import_changed_users_sql;
extern const char *const import_changed_posts_sql;
extern const char *const import_deleting_sql;
extern const char *const import_new_sql[ITEM_POST + 1];
extern const char *const import_count_sql;
extern const char *const import_counted_sql;
extern const char *const import_to_lock_sql;
extern const char *const import_lock_posts_sql;
extern const char *const import_write_deltas_sql;

/* cluster_import_sql.c: those of a cluster */
extern const char *const import_spread_tables_sql[];
extern const int import_spread_tables_n;
extern const char *const import_post_keys_sql;
extern const char *const import_there_keys_sql;
extern const char *const import_child_keys_sql[N_IMPORTED];
extern const char *const import_lock_keys_sql;
extern const char *const import_given_names_sql;
extern const char *const import_released_names_sql;

#endif							/* BLOGSTORE_IMPORT_H */
