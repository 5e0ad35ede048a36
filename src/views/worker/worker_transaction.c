/*
 * worker_transaction.c
 *		The transactions of the worker.
 *
 * The transactions that are begun here are the containers' owner's. Where it is not
 * known whether there are containers, views_serving.c and worker_position.c begin their
 * own, which write nothing. Writes to the views, and folding, which
 * changes nothing that shows, are marked (storage/bookkeeping/own_writes.c), so that
 * the output plugin filters them out again.
 *
 *		kind			locks			marked	lock_timeout
 *		------------	--------------	------	------------
 *		APPLY_STATE		none			no		none
 *		APPLY_POSTS		containers		no		200 ms
 *		APPLY_COUNTS	containers		yes		200 ms
 *		APPLY_VIEWS		containers,		yes		200 ms
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

#include "base/characters.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

static MemoryContext outside;	/* what was current before the transaction */
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
	StartTransactionCommand();
	if (kind != APPLY_STATE)
		limit_lock_waits();
	container_require();
	owner_begin(scope);
	if (kind != APPLY_STATE)
		container_lock_all(true);
	if (kind == APPLY_VIEWS)
		views_lock();
	PushActiveSnapshot(GetTransactionSnapshot());
}

/* Commit. The worker flushes its commits before it relies on them. */
void
apply_end(OwnerScope *scope)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
	owner_end(scope);

	/* the server leaves a context that is never reset */
	MemoryContextSwitchTo(outside);
}

/* Roll back after an error that the worker goes on from, and forget it. */
void
apply_roll_back(void)
{
	FlushErrorState();
	AbortOutOfAnyTransaction();
}

/* Why the last step that is to be tried again has failed. */
const char *
apply_in_the_way(void)
{
	return in_the_way;
}

/*
 * What has caused an error in a transaction of a kind. The tables of the views have no unique
 * index but blogstore's own, so what the worker has just seen missing there was written by hand
 * beside it.
 */
ErrorCause
error_cause(ApplyKind kind, int sqlerrcode)
{
	if (sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		(kind == APPLY_VIEWS && sqlerrcode == ERRCODE_UNIQUE_VIOLATION))
		return CAUSE_OTHERS;
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_TO_CATEGORY(ERRCODE_TRANSACTION_ROLLBACK):
			return CAUSE_OTHERS;
		case ERRCODE_TO_CATEGORY(ERRCODE_CONNECTION_EXCEPTION):
		case ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES):
		case ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION):
		case ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR):
		case ERRCODE_TO_CATEGORY(ERRCODE_INTERNAL_ERROR):
			return CAUSE_SERVER;
		default:
			return CAUSE_OWNER;
	}
}

static void
note_in_the_way(MemoryContext context)
{
	ErrorData  *edata;

	MemoryContextSwitchTo(context);
	edata = CopyErrorData();
	message_copy(in_the_way, edata->message, sizeof(in_the_way));
	FreeErrorData(edata);
}

/*
 * Do a step in a transaction of its own, and tell how it ended. The current
 * memory context stays what it was.
 *
 * error: NULL, or where an error of the owner's making goes, in the current memory
 * context. Without it, such an error is thrown on, as one of the server's always is.
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
		if (kind == APPLY_VIEWS || kind == APPLY_COUNTS)
			own_writes_run(true, step, arg);
		else
			step(arg);
		apply_end(&scope);
	}
	PG_CATCH();
	{
		switch (error_cause(kind, geterrcode()))
		{
			case CAUSE_OTHERS:
				result = APPLY_AGAIN;
				note_in_the_way(context);
				break;
			case CAUSE_OWNER:
				if (error == NULL)
					PG_RE_THROW();
				result = APPLY_FAILED;
				MemoryContextSwitchTo(context);
				*error = CopyErrorData();
				break;
			case CAUSE_SERVER:
				PG_RE_THROW();
		}
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
