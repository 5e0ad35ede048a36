/*
 * change_feed.h
 *		The change feed: decodes WAL, and collects the keys of the posts and
 *		users that may be out of date in the views (the copies of posts in
 *		users, and the feed).
 *
 *		WAL  -- slot.c, decoder.c -->  records
 *			 -- output_plugin.c, decoded_tables.c -->  changes
 *			 -- held_back.c, dirty_set.c -->  keys of posts, users, ...
 *
 * The change feed reports which posts have changed, not how. The worker then
 * reads the current state of these posts. In names, "feed_view" means the
 * container feed, because "feed" alone could mean the change feed.
 */
#ifndef BLOGSTORE_CHANGE_FEED_H
#define BLOGSTORE_CHANGE_FEED_H

#include "model/post_counts/post_counts.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "utils/uuid.h"

struct AppliedPosition;

/*
 * Prefixes of blogstore's logical messages in WAL.
 *
 * WAIT_MARK: written by a process that waits until the views show all commits
 * before the message.
 * LOOK_MARK: written by verify(), which waits until the worker has decoded all
 * WAL before the message.
 * TOUCH_MARK: written on a node of a cluster, so that the worker refreshes the
 * copy of a post. The message carries the PostKey of the post.
 */
#define WAIT_MARK "blogstore"
#define LOOK_MARK "blogstore look"
#define TOUCH_MARK "blogstore touch"

/*
 * Identifies a post and its copy in the container users. The struct has no
 * padding, so that it can be compared and hashed as bytes.
 */
typedef struct PostKey
{
	pg_uuid_t	post_id;
	pg_uuid_t	user_id;
	TimestampTz creation_date;
} PostKey;

/*
 * A post or comment whose deltas have changed. If it is a post, the counts in
 * its copy may be out of date. If it is a comment, its deltas have to be
 * folded.
 */
typedef struct CountedChange
{
	CountedItem item;			/* hash key */

	/*
	 * Number of deltas that were inserted for the item, not counting stripes
	 * (deltas that one process updates again and again). If there are many,
	 * the worker folds them sooner (folding.c).
	 */
	int64		deltas;

	/*
	 * Whether a delta besides the counter was written. The worker then folds
	 * the deltas of the item (folding.c).
	 */
	bool		beside;
} CountedChange;

#define TOLD_PLACES 1024

/*
 * Tells verify() in which round of the worker's main loop the change feed last
 * reported a change of a post. The rounds are numbered; identifiers call the
 * number of a round a turn. Each worker has a ToldPosts in shared memory.
 */
typedef struct ToldPosts
{
	pg_atomic_uint64 turn;		/* number of the current or last round of the
								 * worker's main loop */
	pg_atomic_uint64 ended;		/* number of the last round of the main loop
								 * that has ended */
	pg_atomic_uint64 complete;	/* number of the last round that has decoded
								 * all WAL flushed before that round */

	/*
	 * The views show all changes that the change feed has reported up to the
	 * end of the round with this number.
	 */
	pg_atomic_uint64 applied;

	/*
	 * Number of the last round in which the change feed reported a change that
	 * can add, remove or move a post in a list of posts.
	 */
	pg_atomic_uint64 listed;

	/*
	 * For each hash value of a post_id: number of the last round in which the
	 * change feed reported a change to a post with this hash value.
	 */
	pg_atomic_uint64 post[TOLD_PLACES];
} ToldPosts;

/* told_posts.c */
extern void told_init(ToldPosts *told);
extern uint64 told_begin_turn(ToldPosts *told);
extern void told_complete_turn(ToldPosts *told);
extern void told_end_turn(ToldPosts *told);
extern void told_applied(ToldPosts *told, uint64 turn);
extern bool told_post_since(ToldPosts *told, const pg_uuid_t *post_id,
							uint64 turn);
extern bool told_list_since(ToldPosts *told, uint64 turn);

/* dirty_set.c */
typedef struct DirtySet DirtySet;

extern DirtySet *dirty_create(MemoryContext parent);
extern void dirty_merge(DirtySet *dirty, const DirtySet *other);
extern void dirty_move_counted(DirtySet *dirty, DirtySet *counts);
extern void dirty_take_counted(DirtySet *counts, DirtySet *dirty, long limit);
extern bool dirty_full(const DirtySet *dirty);
extern bool dirty_any(const DirtySet *dirty);
extern bool dirty_writes(const DirtySet *dirty);
extern bool dirty_jobs(const DirtySet *dirty);
extern bool dirty_feed_view(const DirtySet *dirty);
extern bool dirty_waited(const DirtySet *dirty);
extern void dirty_await(DirtySet *dirty);
extern void dirty_answered(DirtySet *dirty);
extern bool dirty_anything(const DirtySet *dirty);
extern bool dirty_any_gone(const DirtySet *dirty);
extern bool dirty_all_users(const DirtySet *dirty);
extern int64 dirty_changes(const DirtySet *dirty);
extern PostKey *dirty_posts(const DirtySet *dirty, int *n);
extern PostKey *dirty_gone(const DirtySet *dirty, int *n);
extern bool dirty_left_out(const DirtySet *dirty);
extern CountedChange *dirty_counted(const DirtySet *dirty, int *n);
extern long dirty_counted_posts(const DirtySet *dirty);
extern pg_uuid_t *dirty_users(const DirtySet *dirty, int *n);
extern void dirty_clear(DirtySet *dirty);

/* held_back.c */
typedef struct HeldBack HeldBack;

extern HeldBack *held_back_create(MemoryContext parent);
extern void held_back_release(HeldBack *held, DirtySet *dirty,
							  ToldPosts *told);
extern XLogRecPtr held_back_limit(const HeldBack *held, XLogRecPtr lsn);
extern bool held_back_any(const HeldBack *held);

/* slot.c */
extern void worker_slot_name(Oid dbid, char *name);
extern const char *slot_obstacle(const char *name,
								 const struct AppliedPosition *position,
								 const char **hint);
extern void slot_make(const char *name);
extern void slot_drop(const char *name);
extern XLogRecPtr slot_confirmed(const char *name);
extern bool slot_is_being_made(const char *name);
extern int64 slot_keeps(const char *name);
extern bool slot_of_blogstore(int i, Oid *dbid, char *name);
extern void slot_allow_plugin(void);

/* decoder.c */
typedef struct Decoder Decoder;

extern Decoder *decoder_open(const char *slot_name, DirtySet *dirty,
							 DirtySet *later, HeldBack *held, ToldPosts *told);
extern XLogRecPtr decoder_read(Decoder *decoder, XLogRecPtr upto);
extern bool decoder_at_end(const Decoder *decoder);
extern uint64 decoder_could_release(XLogRecPtr lsn);
extern void decoder_confirm(XLogRecPtr lsn);

#endif							/* BLOGSTORE_CHANGE_FEED_H */
