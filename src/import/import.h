/*
 * import.h
 *		Bulk import: declarations for this folder and src/cluster/ only.
 *
 * In this folder, a row is a row of a source, which is a table or view that
 * the caller of import() passes. An item is a row of a container. The import
 * makes items from rows.
 */
#ifndef BLOGSTORE_IMPORT_H
#define BLOGSTORE_IMPORT_H

#include "import/sources/sources.h"
#include "model/post_counts/post_counts.h"

/*
 * The reasons for rejecting a source row that differs from the existing item
 * with the same id.
 */
#define TAKEN "id taken"
#define TAKEN_BY_ANOTHER "id taken by another author"
#define TAKEN_WITH_ANOTHER_DATE "id taken with another creation_date"

/*
 * Functions that find existing comments or likes by their keys. The caller
 * must pass keys in the order of child_key_compare().
 */
typedef struct ItemLookup
{
	/*
	 * Return whether the item with the given key exists. If it does, store it
	 * in *item, where it is valid until the next call.
	 */
	bool		(*find) (struct ItemLookup *lookup, const ChildKey *key,
						 BlogItem *item);
	void		(*end) (struct ItemLookup *lookup);
} ItemLookup;

/*
 * What ImportTarget.learn() copies, on a cluster, from all nodes to a
 * temporary table. The next statements read this table as #posts or #deleting
 * (import_sql.c).
 */
typedef enum ImportLearn
{
	/* as #deleting: the ids of all users who are being deleted */
	LEARN_DELETING,

	/* as #posts: the existing posts whose ids are in the source of posts */
	LEARN_POSTS,

	/*
	 * as #posts: the existing posts whose ids are in the sources of posts,
	 * comments and likes
	 */
	LEARN_PARENTS
} ImportLearn;

/*
 * The functions of an import that differ between one machine (import_here.c)
 * and a cluster (cluster/operations/cluster_import.c). All are called as the
 * containers' owner, between SPI_connect() and SPI_finish().
 */
typedef struct ImportTarget
{
	/*
	 * Prepare the import. Called after its temporary tables were created.
	 * Errors: 55000.
	 */
	void		(*begin) (Import *import);

	/*
	 * Lock the tables that the import writes (RowExclusiveLock). Called after
	 * the sources were read. Errors: 55000 if a table is missing in which the
	 * import looks for existing items.
	 */
	void		(*lock) (Import *import);

	/*
	 * Make a table readable for the next statements. On a cluster, copies rows
	 * from the other nodes into a local table. On one machine, does nothing,
	 * because the statements read the containers.
	 */
	void		(*learn) (const Import *import, ImportLearn what);

	/*
	 * Begin to look up existing comments or likes.
	 *
	 * rows: the type of the source rows whose keys will be looked up. It is
	 *	"type", or ITEM_COMMENT_LIKE to find the comments that users like.
	 */
	ItemLookup *(*lookup) (const Import *import, ItemType type, ItemType rows);

	/*
	 * Lock (FOR KEY SHARE) the rows of existing posts that get comments or
	 * likes, or whose comments are edited. So no such post is deleted before
	 * the import commits. The ids of these posts are in the table @count
	 * (import_sql.c).
	 *
	 * posts: the number of these posts
	 *
	 * Errors: 40001 if one of these posts was deleted.
	 */
	void		(*keep_posts) (const Import *import, int64 posts);

	/*
	 * Keep other transactions from adding follows (follows_lock()), so that no
	 * user follows more than MAX_FOLLOWED users. On a cluster, also copy from
	 * the other nodes what the next statements read as #follows and #followers
	 * (import_sql.c).
	 */
	void		(*lock_follows) (const Import *import);

	/*
	 * Write the new items of a type; "rows" is their number. Errors: 09000 if
	 * a trigger suppresses an insert; 40001.
	 */
	void		(*write) (const Import *import, ItemType type, int64 rows);

	/*
	 * Add new replies and likes to the counts of the comments that they reply
	 * to or like, if these comments exist. Called after the import has written
	 * comments, and before it writes likes. Errors: 40001 if a comment that
	 * gets likes was deleted.
	 */
	void		(*count_on_comments) (const Import *import);

	/*
	 * Edit the existing posts or comments that differ from their source rows.
	 * Returns how many items were changed. Errors: 40001.
	 */
	int64		(*edit) (Import *import, ItemType type);

	bool		(*key_is_taken) (const ErrorData *error);

	/*
	 * Finish after everything is written. Called after guard_leave(), because
	 * DDL is refused until then. Errors: 40001.
	 */
	void		(*end) (const Import *import);
} ImportTarget;

/* import_here.c */
extern const ImportTarget import_here;
extern void import_write_counters(const pg_uuid_t *post_id, int n);
extern bool import_count_on_comment(const CountedItem *comment,
									ItemCounts counts, bool made);

/* leaf_lookup.c */
extern ItemLookup *leaf_lookup_begin(ItemType type);

/*
 * import.c: a caller calls import_begin(), reads the sources
 * (sources/staging.c), and then calls import_end().
 */
extern void import_begin(Import *import, const char *command);
extern void import_end(Import *import, FunctionCallInfo fcinfo);

/* import_known.c */
typedef struct KnownItems KnownItems;

/*
 * The result of comparing a valid source row of a comment or like with the
 * existing items.
 */
typedef enum KnownState
{
	/* no item with the same key exists */
	KNOWN_NEW,
	/* an item with the same key and the same values exists */
	KNOWN_PRESENT,
	/* an item with the same key exists, and the import must edit it */
	KNOWN_CHANGED
} KnownState;

extern int	child_key_compare(const ChildKey *a, const ChildKey *b);
extern KnownItems *known_items_begin(ItemType type, bool update, ItemLookup *lookup);
extern const char *known_items_problem(KnownItems *known, const BlogItem *row,
									   bool replaced, KnownState *state);
extern void known_items_end(KnownItems *known);

/* liked_comments.c */
typedef struct LikedComments LikedComments;

/* Whether the comment of a like exists. */
typedef enum LikedState
{
	LIKED_UNKNOWN,				/* there is no such comment, or its author is
								 * being deleted */
	LIKED_THERE,				/* the comment exists */
	LIKED_NEW					/* the import creates the comment */
} LikedState;

extern LikedComments *liked_comments_begin(const Import *import);
extern LikedState liked_comments_find(LikedComments *comments,
									  const BlogItem *like);
extern void liked_comments_end(LikedComments *comments);

/* import_check.c */
extern void import_check(Import *import, ItemType type);

/*
 * import_write.c
 *
 * ImportWrite: writes rows and returns the number of rows written
 * ItemTaker: writes one item
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
 * import_sql.c: the statements. The head of that file explains the names and
 * parameters in the statements.
 */
extern const char *const import_tables_sql[];
extern const int import_tables_n;
extern const char *const import_check_sql[N_IMPORTED];
extern const char *const import_there_sql;
extern const char *const import_other_names_sql;
extern const char *const import_tally_sql[N_IMPORTED];
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
extern const char *const import_all_deleting_sql;
extern const char *const import_new_sql[N_IMPORTED];
extern const char *const import_count_sql;
extern const char *const import_comment_counts_sql;
extern const char *const import_counted_sql;
extern const char *const import_to_lock_sql;
extern const char *const import_lock_posts_sql;
extern const char *const import_write_deltas_sql;

#endif							/* BLOGSTORE_IMPORT_H */
