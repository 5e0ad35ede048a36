/*
 * bookkeeping.h
 *		Access to the bookkeeping tables, small tables that hold blogstore's
 *		own state. Also declares functions to act as the owner of blogstore's
 *		tables.
 */
#ifndef BLOGSTORE_BOOKKEEPING_H
#define BLOGSTORE_BOOKKEEPING_H

#include "base/compat.h"
#include "storage/bookkeeping/bookkeeping_tables.h"
#include "storage/bookkeeping/spi_statements.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xlogdefs.h"
#include "utils/snapshot.h"
#include "utils/tuplestore.h"

typedef enum JobKind
{
	/* Rebuild the views: write the copies of posts and the feed anew. */
	JOB_REBUILD,
	/*
	 * Write a user's new name to the user's posts, comments and likes. If the
	 * job has no user id, correct the usernames in all items.
	 */
	JOB_RENAME,
	JOB_DELETION,				/* delete a user's posts, comments and likes */
	/*
	 * On a cluster, after a partition has moved to this node: write the
	 * current usernames to the partition's items, and update the copies of the
	 * partition's posts.
	 */
	JOB_ARRIVAL
} JobKind;

#define N_JOB_KINDS (JOB_ARRIVAL + 1)

/*
 * The phases of jobs, as in the column "phase" of blogstore.jobs. For the
 * phases of a rebuild, see views/worker/views_rebuild.c. For those of other
 * jobs, see model/user_changes/user_items_sweep.c.
 */
#define JOB_QUEUED 0			/* the worker has not begun the job */
/*
 * A step of the job has failed. The cause was a constraint or trigger of the
 * owner, or a required field that is NULL. After a pause, the worker does the
 * job again from the beginning. A rebuild does not have this phase.
 */
#define JOB_PARKED 5

typedef enum RebuildPhase
{
	REBUILD_QUEUED = JOB_QUEUED,
	REBUILD_COPIES,
	REBUILD_TOPICS,
	REBUILD_FEED
} RebuildPhase;

/*
 * The phases of a rename, a deletion and an arrival (JOB_ARRIVAL). FIRST
 * changes or deletes the items. WAIT waits for running transactions. RECHECK
 * changes or deletes the items that those transactions have written.
 */
typedef enum SweepPhase
{
	SWEEP_QUEUED = JOB_QUEUED,
	SWEEP_FIRST,
	SWEEP_WAIT,
	SWEEP_RECHECK,
	/*
	 * In a deletion: wait until the deleted items are no longer in the views.
	 * In an arrival: update the copies of the partition's posts. A rename has
	 * no such phase.
	 */
	SWEEP_VIEWS,
	SWEEP_PARKED = JOB_PARKED
} SweepPhase;

/*
 * Job.partition of an arrival in the phase SWEEP_QUEUED. Topics are inserted
 * before the sweep begins, because a sweep may have to wait for transactions.
 */
typedef enum ArrivalTopics
{
	TOPICS_LACKING,				/* the topics of the partition's posts are
								 * being inserted */
	TOPICS_INSERTED
} ArrivalTopics;

typedef struct Job
{
	pg_uuid_t	id;
	JobKind		kind;
	bool		has_user;
	/* the user to be renamed or deleted, if has_user is true */
	pg_uuid_t	user_id;
	/*
	 * In an arrival: the table of the partition that has moved to this node.
	 * InvalidOid: the job is for all partitions that have left this node. In
	 * blogstore.jobs, the OID is stored in the column user_id.
	 */
	Oid			partition_table;
	int			phase;			/* a RebuildPhase or SweepPhase */
	int			partition;
	/*
	 * place of the last item of the partition that the worker has handled so
	 * far
	 */
	ItemPlace	place;
	int64		done;
	/* number of items that the job has to handle; -1 if not known */
	int64		total;
	/* whether the current transaction has locked the job's row (job_lock()) */
	bool		locked;
	bool		finished;
} Job;

/* SQL that selects the ids of the users who are being deleted. */
#define USERS_BEING_DELETED_SQL \
	"SELECT user_id FROM " JOBS_SQL \
	" WHERE kind = 'deletion' AND user_id IS NOT NULL"

/*
 * SQL that selects the ids of users for whom a rename is queued. Renames that
 * have failed (JOB_PARKED) are left out. A NULL in the result stands for all
 * users.
 */
#define USERS_BEING_RENAMED_SQL \
	"SELECT user_id FROM " JOBS_SQL \
	" WHERE kind = 'rename' AND phase <> " CppAsString2(JOB_PARKED)

extern JobKind job_kind(const char *name);
extern const char *job_phase_name(JobKind kind, int phase);
extern bool job_is_parked(const Job *job);
extern void job_queue(JobKind kind, const pg_uuid_t *user_id);
extern void job_queue_once(JobKind kind, const pg_uuid_t *user_id);
extern void job_queue_arrival(Oid partition_table);
extern void job_queue_rebuild_anew(void);
extern bool job_rebuild_is_queued(void);
extern void jobs_request_renames(const pg_uuid_t *users, int n, bool all);
extern void jobs_restart_sweeps(void);
extern int	jobs_list(int64 offset, Job *jobs, int limit);
extern bool job_lock(Job *job);
extern void job_enter_phase(Job *job, int phase);
extern void job_save(const Job *job);
extern void job_finish(Job *job);
extern void job_merge_renames(const Job *job);
extern pg_uuid_t *jobs_deleting(int *n);
extern bool job_lock_deletion(const pg_uuid_t *user_id);
extern void job_make_rename(const pg_uuid_t *user_id);

/* job_progress.c */
extern Datum jobs_to_wait_for(int *count);
extern bool jobs_are_left(Datum ids);
extern void jobs_show(Tuplestorestate *out, TupleDesc desc,
					  int64 rebuild_total);
extern bool job_column_is_mendable(const char *column);
extern void jobs_mend(void);

/*
 * The row of blogstore.view_state: whether queries may read the views, and
 * with which settings the views were built.
 */
typedef struct ViewState
{
	bool		enabled;		/* false after stop_worker() */
	/* whether the views are complete */
	bool		ready;
	/* blogstore.feed_size when the feed was built */
	int			feed_size;
	/*
	 * blogstore.short_form_length when the views were built; 0 if there are no
	 * views
	 */
	int			short_form_length;
	/*
	 * hash of the settings of the short form, except its length, when the
	 * views were built (short_form_stamp())
	 */
	int64		short_form;
	/*
	 * Whether the feed has all posts that are not hidden. If not, list_feed()
	 * reads older posts from the container "posts".
	 */
	bool		feed_whole;
} ViewState;

extern bool views_ready(Snapshot snapshot);
extern bool topics_ready(Snapshot snapshot);
extern void views_abandon(void);
extern void views_lock(void);
extern void view_state_read(ViewState *state);
extern void view_state_write(const ViewState *state);
extern void view_state_write_whole(bool feed_whole);

/*
 * The row of blogstore.change_feed: how far the worker has applied changes to
 * the views.
 */
typedef struct AppliedPosition
{
	/* the views contain all commits before this WAL position */
	XLogRecPtr	applied_lsn;
	TimestampTz applied_at;
	/* the server's timeline when the row was written */
	int64		timeline;
	int64		system_identifier;
	/*
	 * a hash of the containers' partitions when the row was written
	 * (container_layout())
	 */
	int64		layout;
} AppliedPosition;

extern void applied_position_read(AppliedPosition *position);
extern void applied_position_write(const AppliedPosition *position);
extern void applied_position_forget(void);

/* publish_queue.c */
extern void publish_queue_begin(void);
extern void publish_queue_note(const pg_uuid_t *post_id, TimestampTz date);
extern void publish_queue_end(void);
extern void publish_queue_put(const pg_uuid_t *post_id, TimestampTz date);
extern void publish_queue_retry(const pg_uuid_t *post_id, TimestampTz at);
extern void publish_queue_remove(const pg_uuid_t *post_id);
extern int	publish_queue_due(TimestampTz now, TimestampTz latest_retry,
							  pg_uuid_t *posts, int limit);
extern TimestampTz publish_queue_next(TimestampTz now,
									  TimestampTz latest_retry);
extern bool publish_queue_written(void);

/*
 * The user id and security context that the process had before owner_begin().
 * owner_end() restores them.
 */
typedef struct OwnerScope
{
	Oid			user;
	int			sec_context;
} OwnerScope;

extern void owner_begin(OwnerScope *scope);
extern void owner_end(const OwnerScope *scope);
extern void need_writable(const char *command);
extern void limit_lock_waits(void);

/* own_writes.c */
extern void own_writes_look(void);
extern void own_writes_run(bool make, void (*write) (void *arg), void *arg);
extern bool own_writes_have(CompatOrigin origin);

#endif							/* BLOGSTORE_BOOKKEEPING_H */
