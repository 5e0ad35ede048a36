/*
 * worker_nodes.c
 *		On a cluster: seeing to it that other nodes have what is to be sent to them, and serving
 *		the views here while they have sent what is theirs.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

#include "utils/timestamp.h"

/* How often to see to the other nodes, in ms, if none of them asks. */
#define SEE_TO_NODES 1000

static void
send_feed(void *arg)
{
	feed_make();
}

static void
send_copies(void *arg)
{
	copies_send_unsent(arg);
}

/*
 * Look which nodes lack something and send it, copies in parts; returns whether there is more
 * to be sent at once.
 */
static bool
send_what_lacks(void)
{
	OwnerScope	scope;
	bool		feed;
	OtherNode  *lacking;

	apply_begin(&scope, APPLY_STATE);
	feed = nodes_look();
	apply_end(&scope);
	if (feed)
		(void) apply_run(APPLY_VIEWS, send_feed, NULL, NULL);
	lacking = nodes_lacking();
	return lacking != NULL &&
		apply_run(APPLY_VIEWS, send_copies, lacking, NULL) == APPLY_DONE;
}

/* Tell the other nodes how far the views are that this one keeps, and ask them. */
static void
tell(Worker *worker)
{
	OwnerScope	scope;

	worker->told_at = GetCurrentTimestamp();
	apply_begin(&scope, APPLY_STATE);
	nodes_tell(worker->views >= VIEWS_KEPT && !worker->other_size);
	apply_end(&scope);
}

/*
 * Now and then, and when a node asks: have the others what they are to have, and do they keep what
 * is here? Returns whether there is more to be sent at once.
 */
bool
worker_see_to_nodes(Worker *worker)
{
	bool		more = false;

	if (nodes_have_asked() ||
		clock_passed(worker->told_at, GetCurrentTimestamp(), SEE_TO_NODES))
	{
		more = send_what_lacks();
		tell(worker);
		if (more)
			worker->told_at = 0;
	}
	if (worker->views < VIEWS_KEPT)
		return more;
	if (!worker->other_size && nodes_confirm())
		worker_serve_views(worker);
	else if (worker->views == VIEWS_SERVED)
		worker_await_others(worker);
	return more;
}
