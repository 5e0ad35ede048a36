/*
 * apply.c
 *		The transactions of the worker.
 *
 * The transactions that are begun here are the containers' owner's. Where it is not
 * known whether there are containers, serve.c and advance.c begin their own, which
 * write nothing. Writes to the views, and folding, which
 * changes nothing that shows, carry the origin DoNotReplicateId, by which the
 * output plugin filters them out again.
 *
 *		kind			locks			origin				lock_timeout
 *		------------	--------------	----------------	------------
 *		APPLY_STATE		none			none				none
 *		APPLY_POSTS		containers		none				200 ms
 *		APPLY_COUNTS	containers		DoNotReplicateId	200 ms
 *		APPLY_VIEWS		containers,		DoNotReplicateId	200 ms
 *						then the views
 *
 * The containers are locked before any of their leaves, as DDL does. Some DDL
 * takes leaves first (DROP TRIGGER does), and would end in a deadlock with the
 * worker, of which it might be the victim: therefore the short lock_timeout. The
 * worker gives way, and tries again (apply_run()).
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "layout/layout.h"
#include "state/state.h"
#include "views/views.h"
#include "worker/internal.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "replication/origin.h"
#include "utils/snapmgr.h"

static MemoryContext outside;	/* what was current before the transaction */
static ApplyKind kind_now;		/* of the present transaction */
static bool left_out_noted = false; /* is the layout written down as 0? */
static char in_the_way[ERROR_LENGTH];	/* the error of the last step that is to
										 * be tried again */

/*
 * Begin a transaction as the containers' owner with an active snapshot. Locks
 * are waited for before the transaction has an xid or a snapshot. Without a
 * lock_timeout (APPLY_STATE) that can take as long as somebody has a root table
 * locked whose layout is to be read.
 */
void
apply_begin(OwnerScope *scope, ApplyKind kind)
{
	outside = CurrentMemoryContext;
	kind_now = kind;
	StartTransactionCommand();
	if (kind != APPLY_STATE)
		limit_lock_waits();
	container_require();
	owner_begin(scope);
	if (kind != APPLY_STATE)
		container_lock_all(true);
	if (kind == APPLY_VIEWS)
		views_lock();
	if (kind == APPLY_VIEWS || kind == APPLY_COUNTS)
		replorigin_session_origin = DoNotReplicateId;
	PushActiveSnapshot(GetTransactionSnapshot());
}

/* Commit. The worker flushes its commits before it relies on them. */
void
apply_end(OwnerScope *scope)
{
	bool		left_out = kind_now != APPLY_STATE &&
		(left_out_any() || careful_left_any());

	/* a crash forgets what was left out, and not what was made of the rest */
	if (left_out && !left_out_noted)
		applied_position_void_layout();
	PopActiveSnapshot();
	CommitTransactionCommand();
	left_out_noted |= left_out;
	owner_end(scope);
	replorigin_session_origin = InvalidRepOriginId;

	/* the server leaves a context that is never reset */
	MemoryContextSwitchTo(outside);
}

/* The layout has been written down: as 0, because something is left out? */
void
apply_layout_written(bool left_out)
{
	left_out_noted = left_out;
}

/* Roll back after an error that the worker goes on from, and forget it. */
void
apply_roll_back(void)
{
	FlushErrorState();
	/* the error may have come in a subtransaction */
	AbortOutOfAnyTransaction();
	replorigin_session_origin = InvalidRepOriginId;
}

/* Why the last step that is to be tried again has failed. */
const char *
apply_in_the_way(void)
{
	return in_the_way;
}

/* Was it another transaction, at whose end all will be well? */
static bool
was_in_the_way(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		sqlerrcode == ERRCODE_T_R_DEADLOCK_DETECTED ||
		sqlerrcode == ERRCODE_T_R_SERIALIZATION_FAILURE;
}

static void
note_in_the_way(MemoryContext context)
{
	ErrorData  *edata;

	MemoryContextSwitchTo(context);
	edata = CopyErrorData();
	strlcpy(in_the_way, edata->message, sizeof(in_the_way));
	FreeErrorData(edata);
}

/*
 * Do a step in a transaction of its own, and tell how it ended. The current
 * memory context stays what it was.
 *
 * error: NULL, or where an error goes, in the current memory context, that no
 * other transaction has caused. Without it, such an error has all work be careful
 * (careful.c) if that may get around it, and is thrown on if not.
 */
ApplyResult
apply_run(ApplyKind kind, void (*step) (void *arg), void *arg,
		  ErrorData **error)
{
	MemoryContext context = CurrentMemoryContext;
	volatile ApplyResult result = APPLY_DONE;

	PG_TRY();
	{
		OwnerScope	scope;

		apply_begin(&scope, kind);
		step(arg);
		apply_end(&scope);
	}
	PG_CATCH();
	{
		int			code = geterrcode();

		result = APPLY_AGAIN;
		if (!was_in_the_way(code) && error != NULL)
		{
			MemoryContextSwitchTo(context);
			*error = CopyErrorData();
			result = APPLY_FAILED;
		}
		else if (!was_in_the_way(code) && !careful_begin(code))
			PG_RE_THROW();
		else
			note_in_the_way(context);
		apply_roll_back();
		MemoryContextSwitchTo(context);
	}
	PG_END_TRY();
	return result;
}

/* Flush what this process has committed: it relies on it from here on. */
void
apply_flush(void)
{
	if (XactLastCommitEnd != InvalidXLogRecPtr)
		XLogFlush(XactLastCommitEnd);
}
