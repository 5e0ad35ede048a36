/*
 * change_feed.h
 *		The change feed: who runs it, what they share, what flows.
 *
 *		backend  --commit-->  worker  --decodes WAL-->  dirty keys  --> views/
 *		launcher --starts one worker for each database with containers
 */
#ifndef BLOGSTORE_CHANGE_FEED_H
#define BLOGSTORE_CHANGE_FEED_H

#include "compat.h"
#include "settings.h"
#include "state/state.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "replication/output_plugin.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "utils/uuid.h"

struct AppliedPosition;

#define PLUGIN_NAME "blogstore"
#define WAIT_MARK "blogstore"	/* prefix of messages in the WAL */
#define ERROR_LENGTH 256
#define JOB_COMMITTING PG_UINT64_MAX

/* ------------------------------------------------------------------------
 * Shared memory
 * ------------------------------------------------------------------------ */

typedef enum WorkerState
{
	WORKER_WANTED,				/* the launcher is to start it (again) */
	WORKER_STARTING,			/* registered, or not sure that it is needed */
	WORKER_CATCHING_UP,			/* reading what was written without it */
	WORKER_RUNNING,				/* the views are served */
	WORKER_STOPPED,				/* by stop_worker(), until start_worker() */
	WORKER_NOT_NEEDED			/* the database has no containers */
} WorkerState;

/* One database's worker. Fields without a comment are under the lock. */
typedef struct WorkerEntry
{
	Oid			dbid;			/* InvalidOid: the entry is free */
	WorkerState state;
	bool		look_again;		/* what the worker decides by has changed */
	int			stopper;		/* pid of a process that has stopped the worker in
								 * a transaction under way; 0: none */
	int			holds;			/* commands that need the database alone */
	int			pid;			/* 0: no worker is attached */
	Latch	   *latch;			/* of the attached worker */
	int			failures;		/* in a row, for the back-off */
	TimestampTz next_start;		/* not before then */
	TimestampTz started_at;
	TimestampTz caught_up_at;	/* when everything flushed was last shown */
	char		last_error[ERROR_LENGTH];
	TimestampTz last_error_at;

	/* read and written without the lock */
	pg_atomic_uint32 served;	/* may readers use the views? */
	pg_atomic_uint64 wake_lsn;	/* a commit the worker was woken for */
	pg_atomic_uint64 shown_lsn; /* the views show all commits before */
	pg_atomic_uint64 jobs_lsn;	/* what jobs wrote to posts lies before;
								 * JOB_COMMITTING: more is being committed */
	pg_atomic_uint64 batches;
	pg_atomic_uint64 changes;
	ConditionVariable progress; /* broadcast when any of these moves on */
} WorkerEntry;

typedef struct FeedShared
{
	LWLock	   *lock;
	Latch	   *launcher;		/* NULL: no launcher is running */
	pg_atomic_uint32 deleting;	/* commits under way that change who is
								 * being deleted */
	pg_atomic_uint64 deletions; /* such commits ever */
	WorkerEntry entry[MAX_DATABASES];
} FeedShared;

/* NULL where the library is not in shared_preload_libraries */
extern FeedShared *feed_shared;

/* shared.c */
extern void change_feed_init(void);
extern WorkerEntry *worker_entry(Oid dbid, bool create);
extern WorkerEntry *my_worker_entry(void);
extern void worker_entry_want(Oid dbid);
extern void worker_entry_look(WorkerEntry *entry);
extern void worker_entry_leave(WorkerEntry *entry);
extern void worker_entry_ended(WorkerEntry *entry, bool failed);
extern void worker_entry_error(WorkerEntry *entry, const char *message);
extern void launcher_wake(void);
extern const char *worker_obstacle(const char **hint);
extern void worker_slot_name(Oid dbid, char *name);

/* notify.c */
extern void notify_init(void);
extern void notify_request_worker(void);
extern void notify_stopping(void);
extern void notify_look(void);

/* control.c */
extern void control_lock(void);
extern bool control_locked(void);

/* hold.c */
extern void hold_init(void);
extern void worker_end(WorkerEntry *entry);

/* launcher.c, worker.c */
extern void launcher_register(void);
extern PGDLLEXPORT void blogstore_launcher_main(Datum arg);
extern PGDLLEXPORT void blogstore_worker_main(Datum arg);

/* ------------------------------------------------------------------------
 * What flows: which, not what
 * ------------------------------------------------------------------------ */

typedef enum FeedMessageKind
{
	FEED_POST,					/* this post's copy may be out of date */
	FEED_COUNTS,				/* the same, because of a delta */
	FEED_USER,					/* this user's name on items may be */
	FEED_FEED,					/* somebody else wrote to the feed */
	FEED_JOB,					/* a job was queued */
	FEED_RESET,					/* anything may be out of date */
	FEED_WAITED					/* somebody waits for the views */
} FeedMessageKind;

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

typedef struct FeedMessage
{
	FeedMessageKind kind;
	bool		later;			/* not urgent: somebody wrote to a view */
	bool		more;			/* of FEED_COUNTS: another delta, no stripe */
	PostKey		post;			/* of FEED_POST; of FEED_COUNTS its post_id, of
								 * FEED_USER its user_id */
} FeedMessage;

/* A post whose deltas have changed, and how many it has got but stripes. */
typedef struct CountedPost
{
	pg_uuid_t	post_id;		/* the key: see PostKey */
	int64		deltas;
} CountedPost;

/* dirty.c: the bounded set of what a batch has to refresh */
typedef struct DirtySet DirtySet;

extern DirtySet *dirty_create(MemoryContext parent);
extern void dirty_add(DirtySet *dirty, const FeedMessage *message);
extern void dirty_merge(DirtySet *dirty, const DirtySet *other);
extern bool dirty_full(const DirtySet *dirty);
extern bool dirty_any(const DirtySet *dirty);
extern bool dirty_writes(const DirtySet *dirty);
extern bool dirty_jobs(const DirtySet *dirty);
extern bool dirty_feed(const DirtySet *dirty);
extern bool dirty_waited(DirtySet *dirty);
extern bool dirty_reset_seen(const DirtySet *dirty);
extern bool dirty_all_users(const DirtySet *dirty);
extern int64 dirty_changes(const DirtySet *dirty);
extern PostKey *dirty_posts(const DirtySet *dirty, int *n);
extern CountedPost *dirty_counted(const DirtySet *dirty, int *n);
extern pg_uuid_t *dirty_users(const DirtySet *dirty, int *n);
extern void dirty_clear(DirtySet *dirty);
extern void dirty_destroy(DirtySet *dirty);

/* held.c: what is not to be refreshed yet */
typedef struct HeldSet HeldSet;

extern HeldSet *held_create(MemoryContext parent);
extern DirtySet *held_begin(HeldSet *held, TransactionId xid, XLogRecPtr lsn);
extern void held_release(HeldSet *held, DirtySet *dirty);
extern XLogRecPtr held_limit(const HeldSet *held, XLogRecPtr lsn);
extern bool held_any(const HeldSet *held);

/* slot.c: the worker's replication slot */
extern const char *slot_obstacle(const char *name,
								 const struct AppliedPosition *position);
extern void slot_make(const char *name);
extern void slot_drop(const char *name);
extern XLogRecPtr slot_confirmed(const char *name);
extern int64 slot_keeps(const char *name);
extern void slot_allow_plugin(void);

/* plugin.c */

/* decoder.c: from WAL to dirty keys */
typedef struct Decoder Decoder;

extern Decoder *decoder_open(const char *slot_name, DirtySet *dirty,
							 DirtySet *later, HeldSet *held);
extern XLogRecPtr decoder_read(Decoder *decoder, XLogRecPtr upto);
extern bool decoder_at_end(const Decoder *decoder);
extern uint64 decoder_could_release(XLogRecPtr lsn);
extern void decoder_confirm(XLogRecPtr lsn);

#endif							/* BLOGSTORE_CHANGE_FEED_H */
