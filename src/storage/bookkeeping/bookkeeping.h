/*
 * bookkeeping.h
 *		The bookkeeping tables: small tables beside users, posts and feed,
 *		which hold blogstore's own state. Also: acting as the owner of all
 *		these tables.
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

/* ------------------------------------------------------------------------
 * job_queue.c: work that continues after the command that requested it
 * ------------------------------------------------------------------------ */

typedef enum JobKind
{
	JOB_REBUILD,				/* write the copies of posts and the feed
								 * anew */
	/*
	 * write a user's new name to the user's posts, comments and likes; without
	 * a user: check the names of all users
	 */
	JOB_RENAME,
	JOB_DELETION,				/* delete a user's posts, comments and likes */
	JOB_ARRIVAL					/* check a partition that came to this node */
} JobKind;

#define N_JOB_KINDS (JOB_ARRIVAL + 1)

/*
 * The phases of a job, numbers in the table blogstore.jobs. They depend on the
 * kind of the job, and are explained in views/worker/views_rebuild.c and
 * model/user_changes/user_items_sweep.c.
 */
#define JOB_QUEUED 0			/* a job that the worker has not begun */
/*
 * a rename or deletion that has failed because of a damaged table, and waits
 * until the owner has repaired it
 */
#define JOB_PARKED 5

typedef enum RebuildPhase
{
	REBUILD_QUEUED = JOB_QUEUED,
	REBUILD_COPIES,
	REBUILD_FEED
} RebuildPhase;

/*
 * The phases of a rename, a deletion and an arrival. The worker sweeps over
 * all items of a user, or of a partition, until no running transaction can
 * write another one.
 */
typedef enum SweepPhase
{
	SWEEP_QUEUED = JOB_QUEUED,
	SWEEP_FIRST,				/* the first pass over the items */
	SWEEP_WAIT,
	SWEEP_RECHECK,				/* a further pass over the items */
	/*
	 * of a deletion or arrival: all items are done, and the worker waits until
	 * the views no longer show what has changed
	 */
	SWEEP_VIEWS,
	SWEEP_PARKED = JOB_PARKED
} SweepPhase;

typedef struct Job
{
	pg_uuid_t	id;
	JobKind		kind;
	bool		has_user;
	/*
	 * The user of a rename or deletion. In the table, the row of an arrival
	 * has the partition's OID in this column.
	 */
	pg_uuid_t	user_id;
	/*
	 * The partition's table of an arrival; InvalidOid if the arrival means
	 * that partitions have left the node.
	 */
	Oid			partition_table;
	int			phase;			/* a RebuildPhase or SweepPhase */
	int			partition;
	ItemPlace	place;			/* position within that partition */
	int64		done;
	int64		total;			/* -1 if it is not known */
	bool		locked;			/* this transaction has locked the row */
	bool		finished;
} Job;

/* SQL that selects the users who are being deleted. Their items are hidden. */
#define USERS_BEING_DELETED_SQL \
	"SELECT user_id FROM " JOBS_SQL \
	" WHERE kind = 'deletion' AND user_id IS NOT NULL"

/*
 * SQL that selects the users whose items are getting a new name; NULL stands
 * for all users.
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

/* job_progress.c: waiting for jobs, showing and repairing them */
extern Datum jobs_to_wait_for(int *count);
extern bool jobs_are_left(Datum ids);
extern void jobs_show(Tuplestorestate *out, TupleDesc desc,
					  int64 rebuild_total);
extern bool job_column_is_mendable(const char *column);
extern void jobs_mend(void);

/* ------------------------------------------------------------------------
 * The other tables, and their owner
 * ------------------------------------------------------------------------ */

/* view_state.c: whether readers may use the views */
typedef struct ViewState
{
	bool		enabled;		/* false after stop_worker() */
	bool		ready;			/* the views are complete */
	int			feed_size;		/* setting with which the feed was built */
	int			short_form_length;	/* the same for short forms; 0: no views */
	int64		short_form;		/* short_form_stamp() at that time */
	/*
	 * true if the feed holds all posts that lists show, so that a list need
	 * not go on in the posts.
	 */
	bool		feed_whole;
} ViewState;

extern bool views_ready(Snapshot snapshot);
extern void views_abandon(void);
extern void views_lock(void);
extern void view_state_read(ViewState *state);
extern void view_state_write(const ViewState *state);
extern void view_state_write_whole(bool feed_whole);

/*
 * applied_position.c: up to where in the WAL the worker has applied changes to
 * the views
 */
typedef struct AppliedPosition
{
	XLogRecPtr	applied_lsn;	/* the views show all commits before it */
	TimestampTz applied_at;
	int64		timeline;		/* the server's timeline at that time */
	int64		system_identifier;
	int64		layout;			/* container_layout() at that time */
} AppliedPosition;

extern void applied_position_read(AppliedPosition *position);
extern void applied_position_write(const AppliedPosition *position);
extern void applied_position_forget(void);

/* owner_scope.c: acting as the containers' owner */
typedef struct OwnerScope
{
	Oid			user;
	int			sec_context;
} OwnerScope;

extern void owner_begin(OwnerScope *scope);
extern void owner_end(const OwnerScope *scope);
extern void need_writable(const char *command);
extern void limit_lock_waits(void);

/* own_writes.c: keeping the worker's own writes from being decoded */
extern void own_writes_look(void);
extern void own_writes_run(bool make, void (*write) (void *arg), void *arg);
extern bool own_writes_have(CompatOrigin origin);

#endif							/* BLOGSTORE_BOOKKEEPING_H */
