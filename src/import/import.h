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

/* ------------------------------------------------------------------------
 * Where an import looks up what is there, and writes to
 * ------------------------------------------------------------------------ */

/*
 * Looks up comments or likes by keys, which come in the order of rows: by partition, post, and
 * what tells an item from others on its post.
 */
typedef struct ItemLookup
{
	/* Return whether there is an item of a key; it holds until the next is looked for. */
	bool		(*find) (struct ItemLookup *lookup, const pg_uuid_t *post_id,
						 const pg_uuid_t *other, BlogItem *item);
	void		(*end) (struct ItemLookup *lookup);
} ItemLookup;

/* What statements are about to read by a name with # (import_sql.c). */
typedef enum ImportLearn
{
	LEARN_DELETING,				/* #deleting */
	LEARN_POSTS,				/* #posts: those of the rows */
	LEARN_PARENTS				/* #posts: also those that the rows' comments and likes are on */
} ImportLearn;

/*
 * The tables of this machine (import_here.c), or the nodes of a cluster. All is called as the
 * containers' owner, in SPI.
 */
typedef struct ImportTarget
{
	/* Begin, once the import's temporary tables are there. Errors: 55000. */
	void		(*begin) (Import *import);

	/*
	 * Once the sources are read, lock what items are written to, and be sure that all is there
	 * in which items are looked up. Errors: 55000.
	 */
	void		(*lock) (Import *import);

	/* Have the tables that statements read hold what there is by now. */
	void		(*learn) (const Import *import, ImportLearn what);

	/* Begin to look up comments or likes. */
	ItemLookup *(*lookup) (const Import *import, ItemType type);

	/* Keep the posts that existed before and get items. posts: how many. Errors: 40001. */
	void		(*keep_posts) (const Import *import, int64 posts);

	/* Write the new items of a type. rows: how many. Errors: 09000, 40001. */
	void		(*write) (const Import *import, ItemType type, int64 rows);

	/* Edit the posts or comments that differ; returns how many still did. Errors: 40001. */
	int64		(*edit) (Import *import, ItemType type);

	/* Is an error that a primary key is taken? */
	bool		(*key_is_taken) (const ErrorData *error);

	/* End, once all is written, outside of any guard. Errors: 40001. */
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

extern KnownItems *known_items_begin(ItemType type, bool update, ItemLookup *lookup);
extern const char *known_items_problem(KnownItems *known, const BlogItem *row,
									   KnownState *state);
extern void known_items_end(KnownItems *known);

/* import_check.c */
extern void import_check(Import *import, ItemType type);

/* import_write.c: what writes rows, and returns how many; what takes an item that is to be written */
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
 * import_sql.c: the statements; @name is a temporary table, $1 the present, $2 whether
 * items that are there become as the source's
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
