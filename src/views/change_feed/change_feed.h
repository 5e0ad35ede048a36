/*
 * change_feed.h
 *		The change feed: from the WAL to the keys of what may be out of date in the
 *		views.
 *
 *		WAL  -- slot.c, decoder.c -->  records
 *			 -- output_plugin.c, decoded_tables.c -->  changes
 *			 -- held_back.c, dirty_set.c -->  keys of posts, users, ...
 *
 * It tells which, not what: whoever refreshes the views reads the present state.
 * The other feed, the view of the newest posts, is the "view feed" here.
 */
#ifndef BLOGSTORE_CHANGE_FEED_H
#define BLOGSTORE_CHANGE_FEED_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "utils/uuid.h"

struct AppliedPosition;

/*
 * Prefixes of messages in the WAL: a process waits for the views; verify() waits until all
 * before the message is decoded; a node of a cluster asks for a refresh of a post's copy.
 */
#define WAIT_MARK "blogstore"
#define LOOK_MARK "blogstore look"
#define TOUCH_MARK "blogstore touch"

/*
 * A post by all keys its copies have. Padded with zeros, so that it can be
 * compared and hashed as bytes.
 */
typedef struct PostKey
{
	pg_uuid_t	post_id;
	pg_uuid_t	user_id;
	TimestampTz creation_date;
} PostKey;

/* A post whose counts have changed. */
typedef struct CountedPost
{
	pg_uuid_t	post_id;		/* hashed as bytes, as a PostKey is */
	int64		deltas;			/* how many it has got that are no stripes */
	bool		beside;			/* beside its counter: there are deltas to fold */
} CountedPost;

#define TOLD_PLACES 1024

/* Of which posts the change feed has told, and when, in turns of the worker. In shared memory. */
typedef struct ToldPosts
{
	pg_atomic_uint64 turn;		/* the present one, or between two of them the last */
	pg_atomic_uint64 ended;		/* the last one that has ended */
	pg_atomic_uint64 complete;	/* the last one that has told of all it had to tell of */
	pg_atomic_uint64 applied;	/* the views show all that was told of up to this one */
	pg_atomic_uint64 listed;	/* the last one that told of a change to more than counts */
	pg_atomic_uint64 post[TOLD_PLACES]; /* the last one that told of a post of this hash */
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

/* dirty_set.c: the bounded set of what a batch has to refresh */
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
extern CountedPost *dirty_counted(const DirtySet *dirty, int *n);
extern long dirty_counted_posts(const DirtySet *dirty);
extern pg_uuid_t *dirty_users(const DirtySet *dirty, int *n);
extern void dirty_clear(DirtySet *dirty);

/* held_back.c: transactions that are not to be refreshed from yet */
typedef struct HeldBack HeldBack;

extern HeldBack *held_back_create(MemoryContext parent);
extern void held_back_release(HeldBack *held, DirtySet *dirty,
							  ToldPosts *told);
extern XLogRecPtr held_back_limit(const HeldBack *held, XLogRecPtr lsn);
extern bool held_back_any(const HeldBack *held);

/* slot.c: the worker's replication slot */
extern void worker_slot_name(Oid dbid, char *name);
extern const char *slot_obstacle(const char *name,
								 const struct AppliedPosition *position);
extern void slot_make(const char *name);
extern void slot_drop(const char *name);
extern XLogRecPtr slot_confirmed(const char *name);
extern bool slot_is_being_made(const char *name);
extern int64 slot_keeps(const char *name);
extern void slot_allow_plugin(void);

/* decoder.c: from WAL to dirty sets */
typedef struct Decoder Decoder;

extern Decoder *decoder_open(const char *slot_name, DirtySet *dirty,
							 DirtySet *later, HeldBack *held, ToldPosts *told);
extern XLogRecPtr decoder_read(Decoder *decoder, XLogRecPtr upto);
extern bool decoder_at_end(const Decoder *decoder);
extern uint64 decoder_could_release(XLogRecPtr lsn);
extern void decoder_confirm(XLogRecPtr lsn);

#endif							/* BLOGSTORE_CHANGE_FEED_H */
