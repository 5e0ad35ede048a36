/*
 * worker_transaction.c
 *		The worker's transactions, and what it does about errors in them.
 *
 * The transactions of apply_begin() and apply_run() run as the owner of the
 * containers. The kind of a transaction decides which locks it takes first:
 *
 *		kind			locks				marked	lock_timeout
 *		------------	------------------	------	------------
 *		APPLY_STATE		none				no		none
 *		APPLY_POSTS		containers			no		200 ms
 *		APPLY_COUNTS	containers			yes		200 ms
 *		APPLY_VIEWS		containers, then	yes		200 ms
 *						views_lock()
 *
 * "Marked" means that the transaction carries the worker's replication origin.
 * The output plugin skips such transactions
 * (storage/bookkeeping/own_writes.c).
 *
 * Containers are locked before their leaves, as DDL does. Some DDL, such as
 * DROP TRIGGER, locks a leaf first and could deadlock with the worker. The
 * lock_timeout is short, so that the worker gives up before the deadlock
 * detector cancels the DDL. apply_run() then returns APPLY_AGAIN.
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
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

static MemoryContext outside;	/* memory context of apply_begin()'s caller */
/* Message of the last error after which apply_run() returned APPLY_AGAIN. */
static char in_the_way[ERROR_LENGTH];

static char database[NAMEDATALEN];

void
worker_database_read(void)
{
	char	   *name;

	StartTransactionCommand();
	name = get_database_name(MyDatabaseId);
	if (name != NULL)
		strlcpy(database, name, NAMEDATALEN);
	CommitTransactionCommand();
}

/*
 * Return the name of the worker's database. While the worker runs, the
 * database cannot be renamed.
 */
const char *
worker_database(void)
{
	return database;
}

/*
 * Begin a transaction as the containers' owner, take the locks of its kind
 * (see the table at the top of the file), and push an active snapshot.
 *
 * scope: receives the previous user, for apply_end().
 *
 * Locks are taken before the transaction has an xid or a snapshot, so that a
 * wait does not hold back vacuum. An APPLY_STATE transaction has no
 * lock_timeout. So it waits without limit for a session that has locked a root
 * table.
 *
 * Errors: those of container_require() and owner_begin(); 55P03 when
 * lock_timeout expires.
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

/*
 * Commit the transaction of apply_begin(), and restore the user and the memory
 * context that apply_begin() has replaced. The commit is not flushed (see
 * apply_flush()).
 */
void
apply_end(OwnerScope *scope)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
	owner_end(scope);

	/* CommitTransactionCommand() may have switched to TopMemoryContext. */
	MemoryContextSwitchTo(outside);
}

void
apply_roll_back(void)
{
	FlushErrorState();
	AbortOutOfAnyTransaction();
}

const char *
apply_in_the_way(void)
{
	return in_the_way;
}

/*
 * Return the cause of an error. The SQLSTATE and the kind of the transaction
 * tell the cause.
 *
 * The views have only blogstore's own unique indexes. So a unique violation in
 * an APPLY_VIEWS transaction means that another session has just inserted the
 * row.
 *
 * APPLY_POSTS and APPLY_COUNTS transactions change posts, whose triggers can
 * raise any error. So each other error in such a transaction is taken for one
 * of the owner's code or of these posts, and the worker goes on with others.
 */
ErrorCause
error_cause(ApplyKind kind, int sqlerrcode)
{
	if (sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		(kind == APPLY_VIEWS && sqlerrcode == ERRCODE_UNIQUE_VIOLATION))
		return CAUSE_OTHERS;
	if (ERRCODE_TO_CATEGORY(sqlerrcode) ==
		ERRCODE_TO_CATEGORY(ERRCODE_TRANSACTION_ROLLBACK))
		return CAUSE_OTHERS;
	if (kind == APPLY_POSTS || kind == APPLY_COUNTS)
		return CAUSE_OWNER;
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
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
 * Run step(arg) in a transaction of its own. The current memory context is
 * preserved.
 *
 * error: receives an error with CAUSE_OWNER, in the current memory context.
 * The result is then APPLY_FAILED. If "error" is NULL, such an error is thrown
 * again.
 *
 * Errors with CAUSE_SERVER are always thrown again.
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
		publish_queue_begin();
		if (kind == APPLY_VIEWS || kind == APPLY_COUNTS)
			own_writes_run(true, step, arg);
		else
			step(arg);
		publish_queue_end();
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

/*
 * Flush the last commit of this process. The worker commits without a flush,
 * so it calls this function when a commit must survive a crash.
 */
void
apply_flush(void)
{
	if (XactLastCommitEnd != InvalidXLogRecPtr)
		XLogFlush(XactLastCommitEnd);
}

/*
 * Add the context of an error of apply_run() to a message, within ereport().
 * The context usually names the function of a trigger. Its last line is the
 * worker's own, which the message has anyway.
 */
int
apply_error_place(const ErrorData *error)
{
	const char *last = error->context ? strrchr(error->context, '\n') : NULL;

	if (last == NULL)
		return 0;
	return errcontext_msg("%.*s", (int) (last - error->context),
						  error->context);
}
