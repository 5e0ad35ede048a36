/*
 * node_contact.c
 *		What a worker on a cluster knows about the other nodes: what it still
 *		has to send to each of them, and whether each has sent everything to
 *		this node.
 *
 * A worker sends the feed rows of its node's posts to every other node
 * (feed_delivery.c). It sends the copies of these posts to the nodes that have
 * the authors' shards (copy_delivery.c). If it cannot reach a node, it goes on
 * without that node, and tries again after a pause. It stores the keys of the
 * copies in a table (unsent_copies.c), and notes that all feed rows have to be
 * sent to that node.
 *
 * Every second, the worker sends a report to every other node, by calling
 * tell_node() there. A report has these fields:
 *
 *	keeps	at least this many of the sender's newest posts are in all feeds; 0
 *			if the receiver lacks copies or feed rows of the sender's posts
 *	asks	a number. A new number asks the receiver to send all its feed rows.
 *	answers	the number "asks" that the receiver has reported last; 0 as long as
 *			the sender still has to send feed rows to the receiver
 *
 * Readers may use the views of a node while every other node with shards has
 * answered the last "asks", and continues to report. If a node cannot be
 * reached, its last report stays valid, because its posts cannot be changed
 * either.
 *
 * Runs in the worker; tell_node() in backends to which other nodes have
 * connected.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/preload.h"
#include "base/settings.h"
#include "cluster/citus/citus.h"
#include "cluster/view_delivery/other_nodes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "views/launcher/launcher.h"
#include "views/worker/worker_parts.h"

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

NODE_FUNCTION(tell_node, "The worker of another node");

/*
 * A worker sends a report to each other node every TELL_EVERY ms. If a node
 * answers statements but has sent no report for BELIEVE_FOR ms, its last
 * report is ignored.
 */
#define TELL_EVERY 1000
#define BELIEVE_FOR 3000

/*
 * The shortest and the longest pause before a node that could not be reached
 * is tried again, in ms.
 */
#define FIRST_PAUSE 1000
#define LONGEST_PAUSE 10000

/* a statement that fails only if the connection fails */
#define PING "SELECT 1"

/*
 * A statement that makes another node check all its copies of posts: it queues
 * the job that rebuild_views() queues.
 */
#define LOOK \
	"INSERT INTO " JOBS_SQL " (id, kind) VALUES (pg_catalog.gen_random_uuid(), 'rebuild')"

static OtherNode others[MAX_OTHER_NODES];
static int	n_others = 0;
static TimestampTz looked_at = 0;

/*
 * The field "asks" of this worker's reports. A new number asks the other nodes
 * for all their feed rows.
 *
 * question: the number for the next report
 * asked: the number in the last report. If the two differ, the worker has to
 *	send a report now.
 */
static int64 question = 0;
static int64 asked = 0;

/* incremented whenever all feed rows of this node have to be sent again */
static uint64 unsure = 1;

/* True if this transaction has sent feed rows to other nodes. */
static bool sending = false;

/*
 * Set by nodes_ask_on_commit().
 *
 * asking: whether to ask all other nodes for all their feed rows when this
 *	transaction commits
 * losing: whether this node's feed may lack rows of other nodes' posts after
 *	the commit
 */
static bool asking = false;
static bool losing = false;

/*
 * Ask all other nodes to send all their feed rows: choose a new number for the
 * next report. Until all nodes have sent these rows, readers do not use this
 * node's views.
 */
static void
ask(void)
{
	question = Max(GetCurrentTimestamp(), question + 1);
	pg_atomic_write_u32(&my_worker_entry()->served, InvalidTransactionId);
}

/*
 * Ask all other nodes to send all their feed rows again, and send them all
 * feed rows of this node again.
 *
 * rows_lost: whether this node may lack feed rows that other nodes have sent.
 *	If so, the last reports of the other nodes become invalid.
 */
static void
ask_anew(bool rows_lost)
{
	for (int i = 0; i < n_others && rows_lost; i++)
		others[i].has_sent_all = false;
	ask();
	nodes_unsure();
}

/*
 * React to the end of a transaction.
 *
 * If the transaction has sent feed rows and then aborts, send all feed rows
 * again, because the other nodes have committed the sent rows. If
 * nodes_ask_on_commit() was called and the transaction commits, ask all other
 * nodes for all their feed rows.
 */
static void
transaction_end(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
		event != XACT_EVENT_PREPARE)
		return;
	if (sending && event != XACT_EVENT_COMMIT)
		nodes_unsure();
	if (asking && event == XACT_EVENT_COMMIT)
		ask_anew(losing);
	sending = asking = losing = false;
}

static void
listen_to_transactions(void)
{
	static bool listening = false;

	if (!listening)
		RegisterXactCallback(transaction_end, NULL);
	listening = true;
}

/*
 * Note that this transaction sends feed rows to other nodes. If it does not
 * commit, all feed rows are sent again (transaction_end()).
 */
void
nodes_sending(void)
{
	listen_to_transactions();
	sending = true;
}

/*
 * When this transaction commits, ask all other nodes for all their feed rows.
 * Called in the worker.
 *
 * rows_lost: whether this node may lack feed rows that other nodes have sent.
 *	If so, readers do not use the views until every node has sent its feed
 *	rows. This includes nodes that cannot be reached at present.
 */
void
nodes_ask_on_commit(bool rows_lost)
{
	listen_to_transactions();
	asking = true;
	losing |= rows_lost;
}

/*
 * Call take(arg), a function that writes what another node has sent. The
 * changes get the worker's replication origin, so that no worker decodes them.
 * The transaction waits for locks only briefly. Its commit is flushed to disk,
 * because the sender will not send the rows again.
 */
void
nodes_take(void (*take) (void *arg), void *arg)
{
	limit_lock_waits();
	if (synchronous_commit == SYNCHRONOUS_COMMIT_OFF)
		setting_change_local("synchronous_commit", "local");
	own_writes_run(false, take, arg);
}

bool
nodes_in_worker(void)
{
	WorkerEntry *entry = my_worker_entry();

	return entry != NULL && entry->pid == MyProcPid;
}

/*
 * Store in shared memory whether this node still has to send feed rows, copies
 * or the statement LOOK to another node. If so, wait_for_views() waits.
 */
static void
show_unsent(void)
{
	bool		unsent = false;

	for (int i = 0; i < n_others; i++)
		unsent |= !others[i].has_feed || others[i].lacks_copies || others[i].must_look;
	pg_atomic_write_u32(&my_worker_entry()->unsent, unsent);
}

void
node_got_feed(OtherNode *other, bool got)
{
	other->has_feed = got;
	show_unsent();
}

void
node_lacks(OtherNode *other)
{
	other->lacks_copies = true;
	show_unsent();
}

/*
 * Make the worker send all feed rows of this node to all other nodes. A
 * backend only sets a flag for the worker (feed_ask_worker()).
 */
void
nodes_unsure(void)
{
	if (!nodes_in_worker())
	{
		feed_ask_worker();
		return;
	}
	for (int i = 0; i < n_others; i++)
		others[i].has_feed = false;
	unsure++;
	show_unsent();
}

/*
 * Return a number that changes whenever all feed rows of this node have to be
 * sent again. The caller compares it with an earlier result.
 */
uint64
nodes_stamp(void)
{
	return unsure;
}

/*
 * Make all other nodes check their copies, because this node may have failed
 * to report the deletion of posts. Called in a transaction.
 *
 * nodes_look() sends the nodes a statement for this, LOOK. Until all nodes
 * have executed it, the worker does not confirm a new position to its slot. So
 * if the worker is restarted, it decodes the same changes, and calls this
 * function again.
 */
void
nodes_have_all_look(void)
{
	OtherNode  *list;
	int			n = nodes_others(&list);

	for (int i = 0; i < n; i++)
		list[i].must_look = true;
	if (n > 0)
		worker_hold_position(true);
	show_unsent();
}

static bool
has_shards(int group)
{
	const ShardMap *map = container_shards(CONTAINER_POSTS);

	for (int i = 0; i < map->n; i++)
		if (map->shard[i].group == group)
			return true;
	return false;
}

/*
 * Read the list of other nodes from Citus's catalogs. Keep the state of nodes
 * that were in the list before.
 */
static void
look_at_nodes(void)
{
	ClusterNode nodes[MAX_OTHER_NODES];
	OtherNode	before[MAX_OTHER_NODES];
	int			n_before = n_others;

	memcpy(before, others, sizeof(others));
	n_others = cluster_other_nodes(nodes, MAX_OTHER_NODES);
	for (int i = 0; i < n_others; i++)
	{
		OtherNode  *other = &others[i];

		memset(other, 0, sizeof(*other));
		for (int j = 0; j < n_before; j++)
			if (before[j].node.group == nodes[i].group &&
				before[j].node.id == nodes[i].id)
				*other = before[j];
		other->node = nodes[i];
		strlcpy(other->host, nodes[i].host, sizeof(other->host));
		other->node.host = NULL;
		other->has_shards = has_shards(nodes[i].group);
	}
	looked_at = GetCurrentTimestamp();
}

/*
 * Set *list to an array of the other nodes, and return its length. The list is
 * read again from Citus's catalogs every TELL_EVERY ms. Called in a
 * transaction.
 */
int
nodes_others(OtherNode **list)
{
	if (clock_passed(looked_at, GetCurrentTimestamp(), TELL_EVERY))
		look_at_nodes();
	*list = others;
	return n_others;
}

/*
 * Return what is known of a node; NULL if there is no such node. Called in a
 * transaction.
 *
 * group: the node's groupid in pg_dist_node
 */
OtherNode *
nodes_other(int group)
{
	OtherNode  *list;
	int			n = nodes_others(&list);

	for (int i = 0; i < n; i++)
		if (list[i].node.group == group)
			return &list[i];
	return NULL;
}

/*
 * Return whether a statement may be sent to a node now. The answer is false
 * during the pause after a failed attempt to reach the node.
 */
bool
node_may_answer(const OtherNode *other)
{
	TimestampTz now = GetCurrentTimestamp();

	/* if "now" is before the last failed attempt, the clock was set back */
	return now >= other->try_at || now < other->away_at;
}

/*
 * Note that an attempt to reach a node has failed. Double other->pause, within
 * FIRST_PAUSE and LONGEST_PAUSE. The next attempt follows after this pause, or
 * after ten times the duration of the failed attempt if that is longer.
 *
 * since: when the attempt began
 */
static void
note_away(OtherNode *other, TimestampTz since)
{
	TimestampTz now = GetCurrentTimestamp();

	other->away_at = now;
	other->pause = Min(Max(other->pause * 2, FIRST_PAUSE), LONGEST_PAUSE);
	other->try_at = TimestampTzPlusMilliseconds(now, Max(other->pause,
														 10 * TimestampDifferenceMilliseconds(since, now)));
}

/*
 * Run a statement on a node, as the containers' owner and in a transaction of
 * its own. Returns false if the statement failed, or if the node could not be
 * reached. During the pause after a failed attempt, returns false at once.
 * Called in a transaction.
 */
bool
node_send(OtherNode *other, const char *sql)
{
	TimestampTz began = GetCurrentTimestamp();
	char	   *owner = GetUserNameFromId(container_owner(), false);
	ClusterNode node = other->node;
	bool		done;

	if (!node_may_answer(other))
		return false;
	node.host = other->host;
	done = cluster_send(&node, owner, sql);
	/*
	 * The statement may have failed although the node can be reached. PING
	 * fails only if the node cannot be reached.
	 */
	if (!done && (strcmp(sql, PING) == 0 || !cluster_send(&node, owner, PING)))
	{
		note_away(other, began);
		return false;
	}
	other->try_at = 0;
	other->pause = 0;
	other->answered_at = GetCurrentTimestamp();
	if (!done)
		other->refused_at = other->answered_at;
	return done;
}

bool
node_answers(OtherNode *other)
{
	return node_send(other, PING);
}

/*
 * Return whether the worker has to contact other nodes now. It has to if
 *
 *	-	this node needs all feed rows of the other nodes,
 *	-	another node needs all feed rows of this node,
 *	-	a node that could not be reached has sent a report since, or
 *	-	a backend has called feed_ask_worker().
 */
bool
nodes_have_asked(void)
{
	if (question != asked || feed_is_asked_for(false))
		return true;
	for (int i = 0; i < n_others; i++)
	{
		NodeNews	news;

		if (node_news_of(others[i].node.group, &news) &&
			(others[i].try_at == 0 ? news.asks != others[i].question :
			 news.heard_at > others[i].away_at))
			return true;
	}
	return false;
}

static void
try_again(OtherNode *other, const NodeNews *news)
{
	if (other->try_at == 0)
		return;
	/*
	 * If a node has sent a report since the last failed attempt, it can be
	 * reached. So do not wait for the end of the pause.
	 */
	if (news->heard_at > other->away_at)
		other->try_at = looked_at;
	(void) node_send(other, PING);
}

/*
 * If a node's report has a new number in "asks", note that all feed rows have
 * to be sent to that node.
 */
static void
take_question(OtherNode *other, const NodeNews *news)
{
	if (news->asks == other->question)
		return;
	other->question = news->asks;
	other->has_feed = false;
}

/*
 * Bring the state of the other nodes up to date: read their last reports, and
 * try again to reach nodes that could not be reached. Send the statement LOOK
 * to nodes that have to check their copies. Returns whether a node that can be
 * reached lacks feed rows. Called in a transaction.
 */
bool
nodes_look(void)
{
	bool		wanted = false;
	bool		untold = false;

	look_at_nodes();
	if (question == 0)
		ask();
	if (feed_is_asked_for(true))
		nodes_unsure();
	unsent_look(others, n_others);
	for (int i = 0; i < n_others; i++)
	{
		OtherNode  *other = &others[i];
		NodeNews	news;
		bool		heard = node_news_of(other->node.group, &news);

		try_again(other, &news);
		if (other->must_look)
			other->must_look = !node_send(other, LOOK);
		if (heard)
			take_question(other, &news);
		untold |= other->must_look;
		wanted |= !other->has_feed && other->try_at == 0;
	}
	worker_hold_position(untold);
	show_unsent();
	return wanted;
}

/*
 * Return a node that can be reached and lacks copies; NULL if there is none. A
 * node is skipped if a statement has failed there less than FIRST_PAUSE ms
 * ago.
 */
OtherNode *
nodes_lacking(void)
{
	TimestampTz now = GetCurrentTimestamp();

	for (int i = 0; i < n_others; i++)
		if (others[i].lacks_copies && others[i].try_at == 0 &&
			clock_passed(others[i].refused_at, now, FIRST_PAUSE))
			return &others[i];
	return NULL;
}

/*
 * Send a report to all other nodes, by calling tell_node() there. Called in a
 * transaction.
 *
 * kept: whether the views on this node have all changes of this node's posts
 */
void
nodes_tell(bool kept)
{
	int			here = cluster_local_group();

	asked = question;
	for (int i = 0; i < n_others; i++)
	{
		OtherNode  *other = &others[i];
		bool		fine = kept && other->has_feed && !other->lacks_copies;

		(void) node_send(other,
						 psprintf("SELECT " BLOGSTORE_SCHEMA ".tell_node(%d, %d, " INT64_FORMAT ", " INT64_FORMAT ")",
								  here, fine ? blogstore_feed_size : 0,
								  other->has_feed ? other->question : 0, question));
	}
	show_unsent();
}

/*
 * Return whether every other node that has shards has sent all its feed rows
 * and copies to this node. The last reports of the nodes say this. If a node
 * can be reached, its report must be recent (BELIEVE_FOR).
 *
 * If the result is true, also set feed_size in shared memory: at least this
 * many of each node's newest posts are in all feeds. It is the smallest number
 * that the nodes have reported in "keeps", and at most blogstore.feed_size.
 */
bool
nodes_confirm(void)
{
	WorkerEntry *entry = my_worker_entry();
	int			size = blogstore_feed_size;
	bool		all = true;

	for (int i = 0; i < n_others; i++)
	{
		OtherNode  *other = &others[i];
		NodeNews	news;
		bool		heard = node_news_of(other->node.group, &news);

		if (heard && news.answers == question && news.keeps >= blogstore_feed_size &&
			!TimestampDifferenceExceeds(news.heard_at, other->answered_at, BELIEVE_FOR))
		{
			other->has_sent_all = true;
			other->keeps = news.keeps;
		}
		else if (other->try_at == 0)
			/*
			 * The node answers statements. But its worker has not reported
			 * lately that everything has been sent to this node.
			 */
			other->has_sent_all = false;
		if (!other->has_shards)
			continue;
		if (!other->has_sent_all)
			all = false;
		size = Min(size, other->keeps);
	}
	if (all && entry != NULL)
	{
		/*
		 * A larger feed_size counts older posts that were added to the feed. A
		 * reader with an older snapshot does not see these posts. So readers
		 * must not use the views until the worker sets "served" again. From
		 * then on, only readers with newer snapshots use the views.
		 */
		if (size > pg_atomic_read_u32(&entry->feed_size))
			pg_atomic_write_u32(&entry->served, InvalidTransactionId);
		pg_write_barrier();
		pg_atomic_write_u32(&entry->feed_size, size);
	}
	return all;
}

/*
 * blogstore.tell_node(node_group, keeps, answers, asks): store the report of
 * another node's worker. The arguments are fields of NodeNews. Locks: none.
 * Errors: 55000.
 */
static Datum
tell_node(PG_FUNCTION_ARGS)
{
	NodeNews	news = {
		.group = PG_GETARG_INT32(0), .keeps = PG_GETARG_INT32(1),
		.answers = PG_GETARG_INT64(2), .asks = PG_GETARG_INT64(3)
	};

	node_news_take(&news);
	PG_RETURN_VOID();
}
