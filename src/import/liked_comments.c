/*
 * liked_comments.c
 *		Bulk import: finds out whether the comments that users like exist, or
 *		are created by this import. A comment whose author is being deleted
 *		counts as missing.
 *
 * The caller passes likes of comments in the order of their keys
 * (child_key_compare()). Existing comments are looked up in the containers.
 * The new comments of this import, which are not written yet, are in a
 * tuplestore in the same order, and are read in step with the likes.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "import/import.h"
#include "storage/blog_item.h"

#include "executor/spi.h"
#include "executor/tuptable.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

struct LikedComments
{
	/* the memory context in which ItemLookup.find() runs */
	MemoryContext context;

	ItemLookup *lookup;			/* finds existing comments */

	pg_uuid_t  *deleting;		/* the users who are being deleted, sorted */
	int			ndeleting;

	const Property *prop;		/* for each column of a new comment, its
								 * field */
	int			nprops;
	Tuplestorestate *rows;		/* new comments; NULL if there are none */
	TupleTableSlot *slot;
	ChildKey	next;			/* the key of the row in "slot" */
	bool		more;			/* false once all rows are read */

	/* the comment of the last like; valid if "valid" is true */
	ChildKey	key;
	bool		valid;
	LikedState	state;
};

/* Read the next new comment. */
static void
read_next(LikedComments *comments)
{
	BlogItem	comment;

	comments->more = comments->rows != NULL &&
		tuplestore_gettupleslot(comments->rows, true, false, comments->slot);
	if (!comments->more)
		return;
	row_item(comments->slot, comments->prop, comments->nprops, &comment);
	comments->next = child_key(ITEM_COMMENT, &comment);
}

/* Read which users are being deleted. */
static void
read_deleting(LikedComments *comments, const Import *import)
{
	int			n = (int) import_run(import, import_all_deleting_sql);
	bool		isnull;

	comments->deleting = palloc(sizeof(pg_uuid_t) * n);
	comments->ndeleting = n;
	for (int i = 0; i < n; i++)
		comments->deleting[i] =
			*DatumGetUUIDP(SPI_getbinval(SPI_tuptable->vals[i],
										 SPI_tuptable->tupdesc, 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
}

/*
 * Begin to look up the comments that users like. Called after the comments of
 * the import were checked. Allocates in the current memory context.
 */
LikedComments *
liked_comments_begin(const Import *import)
{
	LikedComments *comments = palloc0(sizeof(LikedComments));

	comments->context = CurrentMemoryContext;
	comments->lookup = import->target->lookup(import, ITEM_COMMENT,
											  ITEM_COMMENT_LIKE);
	comments->prop = item_properties(ITEM_COMMENT, &comments->nprops);
	comments->rows = import->passed[ITEM_COMMENT];
	if (comments->rows != NULL)
		comments->slot =
			MakeSingleTupleTableSlot(import->passed_desc[ITEM_COMMENT],
									 &TTSOpsMinimalTuple);
	read_next(comments);
	read_deleting(comments, import);
	return comments;
}

static int
compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, UUID_LEN);
}

static bool
author_is_leaving(const LikedComments *comments, const BlogItem *comment)
{
	return bsearch(item_uuid(comment, PROP_USER_ID), comments->deleting,
				   comments->ndeleting, sizeof(pg_uuid_t),
				   compare_ids) != NULL;
}

/* Return whether a comment with the key comments->key exists. */
static LikedState
look_up(LikedComments *comments)
{
	MemoryContext old = MemoryContextSwitchTo(comments->context);
	BlogItem	comment;
	bool		found = comments->lookup->find(comments->lookup, &comments->key,
											   &comment);

	MemoryContextSwitchTo(old);
	return found && !author_is_leaving(comments, &comment) ? LIKED_THERE :
		LIKED_UNKNOWN;
}

/* Return whether the comment of a like exists, or the import creates it. */
LikedState
liked_comments_find(LikedComments *comments, const BlogItem *like)
{
	const ChildKey key = {
		.type = ITEM_COMMENT, .post_id = *item_uuid(like, PROP_POST_ID),
		.comment_id = *item_uuid(like, PROP_COMMENT_ID)
	};

	if (comments->valid && child_key_compare(&key, &comments->key) == 0)
		return comments->state;
	comments->key = key;
	comments->valid = true;
	while (comments->more && child_key_compare(&comments->next, &key) < 0)
		read_next(comments);
	comments->state = comments->more &&
		child_key_compare(&comments->next, &key) == 0 ? LIKED_NEW :
		look_up(comments);
	return comments->state;
}

/* Free the object. The new comments can be read again from the first. */
void
liked_comments_end(LikedComments *comments)
{
	comments->lookup->end(comments->lookup);
	if (comments->rows != NULL)
	{
		ExecDropSingleTupleTableSlot(comments->slot);
		tuplestore_rescan(comments->rows);
	}
	pfree(comments->deleting);
	pfree(comments);
}
