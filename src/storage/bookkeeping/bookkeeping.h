/*
 * bookkeeping.h
 *		State: what is written down in the small tables beside the containers; and who
 *		owns all of them.
 */
#ifndef BLOGSTORE_BOOKKEEPING_H
#define BLOGSTORE_BOOKKEEPING_H

#include "storage/bookkeeping/bookkeeping_tables.h"
#include "storage/bookkeeping/spi_statements.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xlogdefs.h"
#include "utils/snapshot.h"
#include "utils/tuplestore.h"

/* ------------------------------------------------------------------------
 * job_queue.c: work that outlives the command that asked for it
 * ------------------------------------------------------------------------ */

typedef enum JobKind
{
	JOB_REBUILD,				/* of the views */
	JOB_RENAME,					/* of a user, or (NULL) of everyone */
	JOB_DELETION,				/* of a user */
	JOB_ARRIVAL					/* of a partition that has come to this node of a cluster */
} JobKind;

#define N_JOB_KINDS (JOB_ARRIVAL + 1)

/*
 * How far a job is, by kind. The numbers are those in blogstore.jobs. Where the
 * work is done tells what happens in each phase: views/worker/views_rebuild.c,
 * model/user_changes/user_items_sweep.c.
 */
#define JOB_QUEUED 0			/* any job that has not begun */
#define JOB_PARKED 5			/* a rename or deletion that waits until its owner
								 * has mended a table */

typedef enum RebuildPhase
{
	REBUILD_QUEUED = JOB_QUEUED,
	REBUILD_COPIES,
	REBUILD_FEED
} RebuildPhase;

/* Of a rename, a deletion and an arrival, which sweep over items (model/user_changes/user_items_sweep.c). */
typedef enum SweepPhase
{
	SWEEP_QUEUED = JOB_QUEUED,
	SWEEP_FIRST,				/* the first pass */
	SWEEP_WAIT,
	SWEEP_RECHECK,				/* a further pass */
	SWEEP_VIEWS,				/* all items are swept, and views are to follow: of a
								 * deletion or an arrival */
	SWEEP_PARKED = JOB_PARKED
} SweepPhase;

typedef struct Job
{
	pg_uuid_t	id;
	JobKind		kind;
	bool		has_user;
	pg_uuid_t	user_id;		/* in the table also what stands for a partition */
	Oid			partition_table;	/* of an arrival; InvalidOid: partitions have gone */
	int			phase;			/* of its kind */
	int			partition;
	ItemPlace	place;			/* how far, in that partition */
	int64		done;
	int64		total;			/* -1: unknown */
	bool		locked;			/* by this transaction */
	bool		finished;
} Job;

/* The users whose items are hidden, for statements that join with them. */
#define USERS_BEING_DELETED_SQL \
	"SELECT user_id FROM " JOBS_SQL \
	" WHERE kind = 'deletion' AND user_id IS NOT NULL"

/* The users whose items are being relabelled, or are to be; NULL: all users. */
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

/* job_progress.c: who waits for jobs, or looks at them */
extern Datum jobs_to_wait_for(int *count);
extern bool jobs_are_left(Datum ids);
extern void jobs_show(Tuplestorestate *out, TupleDesc desc,
					  int64 rebuild_total);
extern bool job_column_is_mendable(const char *column);
extern void jobs_mend(void);

/* ------------------------------------------------------------------------
 * The other tables, and their owner
 * ------------------------------------------------------------------------ */

/* view_state.c: may readers use the views? */
typedef struct ViewState
{
	bool		enabled;		/* false: stopped by stop_worker() */
	bool		ready;			/* the views are complete */
	int			feed_size;		/* the settings they were built with */
	int			short_form_length;	/* 0: nothing is known of the views */
	int64		short_form;		/* short_form_stamp() */
	bool		feed_whole;		/* the feed holds all posts that are shown */
} ViewState;

extern bool views_ready(Snapshot snapshot);
extern void views_abandon(void);
extern void views_lock(void);
extern void view_state_read(ViewState *state);
extern void view_state_write(const ViewState *state);
extern void view_state_write_whole(bool feed_whole);

/* applied_position.c: how far the change feed has come */
typedef struct AppliedPosition
{
	XLogRecPtr	applied_lsn;	/* the views show all commits before it */
	TimestampTz applied_at;
	int64		timeline;		/* of the server that applied it */
	int64		system_identifier;
	int64		layout;			/* container_layout() then */
} AppliedPosition;

extern void applied_position_read(AppliedPosition *position);
extern void applied_position_write(const AppliedPosition *position);
extern void applied_position_forget(void);

/* owner_scope.c: what is done inside a request is done as the containers' owner */
typedef struct OwnerScope
{
	Oid			user;
	int			sec_context;
} OwnerScope;

extern void owner_begin(OwnerScope *scope);
extern void owner_end(const OwnerScope *scope);
extern void need_writable(const char *command);
extern void limit_lock_waits(void);

/* own_writes.c: what a worker writes is not decoded */
extern void own_writes_look(void);
extern void own_writes_run(bool make, void (*write) (void *arg), void *arg);
extern bool own_writes_have(RepOriginId origin);

#endif							/* BLOGSTORE_BOOKKEEPING_H */
