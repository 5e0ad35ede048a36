/*
 * import.h
 *		Bulk import: declarations for this folder and src/cluster/ only.
 */
#ifndef BLOGSTORE_IMPORT_H
#define BLOGSTORE_IMPORT_H

#include "import/sources/sources.h"

/* Reasons for rejecting a row because of an existing item. */
#define TAKEN "id taken"
#define TAKEN_BY_ANOTHER "id taken by another author"
#define TAKEN_WITH_ANOTHER_DATE "id taken with another creation_date"

/* ------------------------------------------------------------------------
 * The target of an import: where items are looked up and written
 * ------------------------------------------------------------------------ */

/*
 * Looks up comments or likes by their keys. Keys are passed in the order of
 * rows: by partition, post, and the rest of the key.
 */
typedef struct ItemLookup
{
	/*
	 * return whether a key's item exists; *item is valid until the next call
	 */
	bool		(*find) (struct ItemLookup *lookup, const pg_uuid_t *post_id,
						 const pg_uuid_t *other, BlogItem *item);
	void		(*end) (struct ItemLookup *lookup);
} ItemLookup;

/* Names with # that statements are about to read (import_sql.c). */
typedef enum ImportLearn
{
	LEARN_DELETING,				/* #deleting */
	LEARN_POSTS,				/* #posts: the posts of the import's rows */
	LEARN_PARENTS				/* #posts: also the posts of the import's
								 * comments and likes */
} ImportLearn;

/*
 * The operations of a target: the tables of this machine (import_here.c), or
 * the nodes of a cluster. All functions are called as the containers' owner,
 * in SPI.
 */
typedef struct ImportTarget
{
	/*
	 * Begin, after the import's temporary tables were created. Errors: 55000.
	 */
	void		(*begin) (Import *import);

	/*
	 * After the sources were read: lock the tables to be written, and check
	 * that all tables exist in which items are looked up. Errors: 55000.
	 */
	void		(*lock) (Import *import);

	/* update the tables that statements read in place of the containers */
	void		(*learn) (const Import *import, ImportLearn what);

	/* begin to look up comments or likes */
	ItemLookup *(*lookup) (const Import *import, ItemType type);

	/*
	 * Lock the existing posts that get items. posts: their number. Errors:
	 * 40001 if one was deleted.
	 */
	void		(*keep_posts) (const Import *import, int64 posts);

	/*
	 * write the new items of a type; rows: their number; errors: 09000, 40001
	 */
	void		(*write) (const Import *import, ItemType type, int64 rows);

	/*
	 * Edit the posts or comments that differ. Returns the number of items that
	 * were changed. Errors: 40001.
	 */
	int64		(*edit) (Import *import, ItemType type);

	/* return whether an error means that a primary key is taken */
	bool		(*key_is_taken) (const ErrorData *error);

	/* End, when all is written, outside of any guard. Errors: 40001. */
	void		(*end) (const Import *import);
} ImportTarget;

/* import_here.c */
extern const ImportTarget import_here;
extern void import_write_counters(const pg_uuid_t *post_id, int n);

/* leaf_lookup.c */
extern ItemLookup *leaf_lookup_begin(ItemType type);

/* ------------------------------------------------------------------------
 * The import
 * ------------------------------------------------------------------------ */

/* import.c: begin an import, and end it; sources are read in between */
extern void import_begin(Import *import, const char *command);
extern void import_end(Import *import, FunctionCallInfo fcinfo);

/* import_known.c */
typedef struct KnownItems KnownItems;

/* Whether a row's item exists. */
typedef enum KnownState
{
	KNOWN_NEW,
	KNOWN_PRESENT,				/* with the same values */
	KNOWN_CHANGED				/* with other values, to be replaced by the
								 * row's */
} KnownState;

extern KnownItems *known_items_begin(ItemType type, bool update, ItemLookup *lookup);
extern const char *known_items_problem(KnownItems *known, const BlogItem *row,
									   KnownState *state);
extern void known_items_end(KnownItems *known);

/* import_check.c */
extern void import_check(Import *import, ItemType type);

/*
 * import_write.c: a function that writes rows and returns their number; a
 * function that takes an item to be written
 */
typedef int64 (*ImportWrite) (const Import *import, void *arg);
typedef void (*ItemTaker) (void *arg, const BlogItem *item);

extern int64 import_new_items(const Import *import, ItemType type, ItemTaker take,
							  void *arg);
extern void import_write_rows(const Import *import, ImportWrite write,
							  void *arg, int64 rows);
extern void import_run_write(const Import *import, const char *sql,
							 int64 rows);

/* import_edit.c */
extern void import_release_names(const Import *import);
extern void import_edit_users(const Import *import);
extern const Property *import_edited_properties(ItemType type, int *n);
extern int64 import_edit_here(Import *import, ItemType type);
extern void import_hide_posts(const Import *import);
extern bool import_edit_one(const Import *import, ItemType type, const BlogItem *wanted);

/*
 * import_sql.c: the statements. @name is a temporary table; $1 is the current
 * time; $2 is whether existing items are updated.
 */
extern const char *const import_tables_sql[];
extern const int import_tables_n;
extern const char *const import_check_sql[N_IMPORTED];
extern const char *const import_there_sql;
extern const char *const import_other_names_sql;
extern const char *const import_tally_sql[ITEM_POST + 1];
extern const char *const import_reject_sql[N_IMPORTED];
extern const char *const import_lock_tables_sql;
extern const char *const import_refuse_names_sql;
extern const char *const import_held_names_sql;
extern const char *const import_pass_names_sql;
extern const char *const import_old_names_sql;
extern const char *const import_released_names_sql;
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

#endif							/* BLOGSTORE_IMPORT_H */
