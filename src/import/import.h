/*
 * import.h
 *		Bulk import: declarations for this folder and src/cluster/ only.
 *
 * A row is what the caller's table says of an item. An item is what the
 * containers, blogstore's partitioned tables, have of it.
 */
#ifndef BLOGSTORE_IMPORT_H
#define BLOGSTORE_IMPORT_H

#include "import/sources/sources.h"

/* Why a row is rejected if an item with its id exists and differs from it. */
#define TAKEN "id taken"
#define TAKEN_BY_ANOTHER "id taken by another author"
#define TAKEN_WITH_ANOTHER_DATE "id taken with another creation_date"

/* ------------------------------------------------------------------------
 * The target of an import: where items are looked up and written
 * ------------------------------------------------------------------------ */

/*
 * Looks up existing comments or likes by their keys. The caller passes keys
 * sorted by partition, then post, then the rest of the key.
 */
typedef struct ItemLookup
{
	/*
	 * Return whether an item with this key exists, and set *item to it. *item
	 * is valid until the next call. other is the second half of the key: a
	 * comment's id, or the id of the user who likes the post.
	 */
	bool		(*find) (struct ItemLookup *lookup, const pg_uuid_t *post_id,
						 const pg_uuid_t *other, BlogItem *item);
	void		(*end) (struct ItemLookup *lookup);
} ItemLookup;

/*
 * The tables that the import's next statements read. In a statement they are
 * named with a #, as import_sql.c explains.
 */
typedef enum ImportLearn
{
	LEARN_DELETING,				/* #deleting */
	/* #posts, for the posts whose ids are among the import's rows of posts */
	LEARN_POSTS,

	/* #posts, also for the posts of the import's comments and likes */
	LEARN_PARENTS
} ImportLearn;

/*
 * What an import does differently on one machine (import_here.c) and on a
 * cluster (src/cluster/operations/cluster_import.c). All functions are called
 * as the containers' owner, in SPI.
 */
typedef struct ImportTarget
{
	/*
	 * Prepare the target. Called once the import's temporary tables exist.
	 * Errors: 55000.
	 */
	void		(*begin) (Import *import);

	/*
	 * Lock the tables that the import writes, and check that every table in
	 * which it looks for items exists. Called after the sources were read.
	 * Errors: 55000.
	 */
	void		(*lock) (Import *import);

	/*
	 * Make the containers' rows readable for the import's next statements. A
	 * cluster copies them from its nodes; one machine reads the containers
	 * themselves.
	 */
	void		(*learn) (const Import *import, ImportLearn what);

	/* Begin to look up existing comments or likes. */
	ItemLookup *(*lookup) (const Import *import, ItemType type);

	/*
	 * Lock the existing posts that get comments or likes, so that none is
	 * deleted before the import commits. posts is their number. Errors: 40001
	 * if one was deleted.
	 */
	void		(*keep_posts) (const Import *import, int64 posts);

	/*
	 * Write the new items of a type. rows is the number of them. Errors: 09000
	 * if a trigger suppresses one, 40001.
	 */
	void		(*write) (const Import *import, ItemType type, int64 rows);

	/*
	 * Edit the existing posts or comments that differ from their rows. Returns
	 * how many were changed. Errors: 40001.
	 */
	int64		(*edit) (Import *import, ItemType type);

	/* Return whether an error says that a primary key already exists. */
	bool		(*key_is_taken) (const ErrorData *error);

	/*
	 * Finish after everything is written. Called outside of guard_enter() and
	 * guard_leave(), between which DDL is refused. Errors: 40001.
	 */
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

/*
 * import.c: begin an import, and finish it. The caller reads the sources in
 * between.
 */
extern void import_begin(Import *import, const char *command);
extern void import_end(Import *import, FunctionCallInfo fcinfo);

/* import_known.c */
typedef struct KnownItems KnownItems;

/* What the containers have of a row of comments or likes. */
typedef enum KnownState
{
	KNOWN_NEW,
	KNOWN_PRESENT,				/* The item exists with the row's values. */
	/*
	 * The item exists with other values. The import replaces them by the
	 * row's.
	 */
	KNOWN_CHANGED
} KnownState;

extern KnownItems *known_items_begin(ItemType type, bool update, ItemLookup *lookup);
extern const char *known_items_problem(KnownItems *known, const BlogItem *row,
									   KnownState *state);
extern void known_items_end(KnownItems *known);

/* import_check.c */
extern void import_check(Import *import, ItemType type);

/*
 * import_write.c
 *
 * An ImportWrite writes rows, and returns their number. An ItemTaker receives
 * one item that is to be written.
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
 * import_sql.c: the statements. Its head comment explains @name, #name, $1 and
 * $2.
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
