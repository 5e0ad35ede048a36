/*
 * bookkeeping.h
 *		The bookkeeping tables: small tables beside the containers, which hold
 *		blogstore's state. Also: acting as the owner of all these tables.
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
	JOB_REBUILD,				/* rebuild the views */
	JOB_RENAME,					/* write a user's new name to the user's items;
								 * user NULL: of all users */
	JOB_DELETION,				/* delete a user's items */
	JOB_ARRIVAL					/* check a partition that has moved to this
								 * node of a cluster */
} JobKind;

#define N_JOB_KINDS (JOB_ARRIVAL + 1)

/*
 * The phase of a job, by kind. blogstore.jobs contains these numbers. The code
 * that does the work explains each phase: views/worker/views_rebuild.c,
 * model/user_changes/user_items_sweep.c.
 */
#define JOB_QUEUED 0			/* any job that has not begun */
#define JOB_PARKED 5			/* a rename or deletion that waits until the
								 * owner has repaired a table */

typedef enum RebuildPhase
{
	REBUILD_QUEUED = JOB_QUEUED,
	REBUILD_COPIES,
	REBUILD_FEED
} RebuildPhase;

/* Phases of a rename, a deletion and an arrival, which sweep over items. */
typedef enum SweepPhase
{
	SWEEP_QUEUED = JOB_QUEUED,
	SWEEP_FIRST,				/* first pass over the items */
	SWEEP_WAIT,
	SWEEP_RECHECK,				/* further pass */
	SWEEP_VIEWS,				/* deletion or arrival: all items are swept,
								 * and the views have yet to follow */
	SWEEP_PARKED = JOB_PARKED
} SweepPhase;

typedef struct Job
{
	pg_uuid_t	id;
	JobKind		kind;
	bool		has_user;
	pg_uuid_t	user_id;		/* of an arrival, the row has the partition
								 * here */
	Oid			partition_table;	/* of an arrival; InvalidOid: partitions
									 * have left the node */
	int			phase;			/* RebuildPhase or SweepPhase */
	int			partition;
	ItemPlace	place;			/* position within the partition */
	int64		done;
	int64		total;			/* -1: unknown */
	bool		locked;			/* true if this transaction has locked the
								 * row */
	bool		finished;
} Job;

/*
 * The users who are being deleted, and whose items are therefore hidden; for
 * statements that join with them.
 */
#define USERS_BEING_DELETED_SQL \
	"SELECT user_id FROM " JOBS_SQL \
	" WHERE kind = 'deletion' AND user_id IS NOT NULL"

/* The users whose items are to get a new name; NULL: all users. */
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
	bool		enabled;		/* false: stopped by stop_worker() */
	bool		ready;			/* the views are complete */
	int			feed_size;		/* settings with which the views were built */
	int			short_form_length;	/* 0: nothing is known of the views */
	int64		short_form;		/* short_form_stamp() */
	bool		feed_whole;		/* true if the feed holds all posts that are
								 * shown */
} ViewState;

extern bool views_ready(Snapshot snapshot);
extern void views_abandon(void);
extern void views_lock(void);
extern void view_state_read(ViewState *state);
extern void view_state_write(const ViewState *state);
extern void view_state_write_whole(bool feed_whole);

/* applied_position.c: how far the change feed was applied */
typedef struct AppliedPosition
{
	XLogRecPtr	applied_lsn;	/* the views show all commits before this
								 * position */
	TimestampTz applied_at;
	int64		timeline;		/* timeline of the server that applied it */
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
