/*
 * node_contact.c
 *		On a cluster: the other nodes, and whether what is sent to them arrives, and theirs here.
 *
 * Each node's worker sends to each other node its part of the feed there (feed_delivery.c),
 * and the copies of posts whose authors are at home there (copy_delivery.c). What cannot be sent
 * to a node is remembered, and holds up nothing else: copies in a table (unsent_copies.c),
 * of the feed that all of it is to be sent. A node that does not answer is left alone for
 * a while.
 *
 * Every second each worker tells all others whether it keeps what they have of its posts, and
 * asks to be told, by a number that is new whenever its own feed is to be sent
 * anew by all. The views of a node are served while each node that has shards
 * has answered the last question, and goes on to say that it keeps them. One that cannot be reached
 * keeps what it has said: no post of its changes that anybody could know of.
 *
 *		in_sync			the node has all of the feed from here, as of the last commit
 *		lacks			it lacks copies, which are in the table
 *		confirmed		what it has to send here is here
 *
 * Runs in the worker; node_told() in backends that other nodes have connected to.
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

/* How often to tell other nodes, and how long to believe one that tells nothing, in ms. */
#define TELL_EVERY 1000
#define BELIEVE_FOR 3000

/* How long to leave a node alone that cannot be reached, in ms. */
#define FIRST_PAUSE 1000
#define LONGEST_PAUSE 10000

/* A statement that cannot fail. */
#define PING "SELECT 1"

/* Have a node go through its copies, as its part of rebuild_views(). */
#define LOOK \
	"INSERT INTO " JOBS_SQL " (id, kind) VALUES (pg_catalog.gen_random_uuid(), 'rebuild')"

static OtherNode others[MAX_OTHER_NODES];
static int	n_others = 0;
static TimestampTz looked_at = 0;
static int64 question = 0;		/* the last one of this node's */
static int64 asked = 0;			/* the one that all have been told */
static uint64 unsure = 1;
static bool sending = false;	/* has this transaction sent anything of the feed? */
static bool asking = false;		/* is all of the feed to be sent anew by all when it has
								 * committed? */
static bool losing = false;		/* may it have lost rows that other nodes have sent? */

/* The feed here is to be sent anew by all: until it is, it is not served. */
static void
ask(void)
{
	question = Max(GetCurrentTimestamp(), question + 1);
	pg_atomic_write_u32(&my_worker_entry()->served, InvalidTransactionId);
}

/*
 * All nodes, this one too, are to send anew what they have for the others' feeds. rows_lost: what
 * other nodes have sent may be gone, so none of it counts.
 */
static void
ask_anew(bool rows_lost)
{
	for (int i = 0; i < n_others && rows_lost; i++)
		others[i].confirmed = false;
	ask();
	nodes_unsure();
}

/* What was sent and not committed here is not known to be what is here. */
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

/* This transaction sends of the feed what it writes here. */
void
nodes_sending(void)
{
	listen_to_transactions();
	sending = true;
}

/*
 * When this transaction has committed, all nodes are to send anew what they have for the others'
 * feeds. rows_lost: may rows that other nodes have sent be gone? Those of a node that is away cannot
 * come again before it is back. In the worker.
 */
void
nodes_ask_on_commit(bool rows_lost)
{
	listen_to_transactions();
	asking = true;
	losing |= rows_lost;
}

/*
 * Call take(arg), which writes what another node has sent: no worker decodes it. The transaction
 * waits for locks for a short while only, and once it has committed, what was sent stays.
 */
void
nodes_take(void (*take) (void *arg), void *arg)
{
	limit_lock_waits();
	if (synchronous_commit == SYNCHRONOUS_COMMIT_OFF)
		setting_change_local("synchronous_commit", "local");
	own_writes_run(false, take, arg);
}

/* Is this process the worker? */
bool
nodes_in_worker(void)
{
	WorkerEntry *entry = my_worker_entry();

	return entry != NULL && entry->pid == MyProcPid;
}

/* Tell who waits for the views whether anything is still to be sent. */
static void
show_unsent(void)
{
	bool		unsent = false;

	for (int i = 0; i < n_others; i++)
		unsent |= !others[i].in_sync || others[i].lacks || others[i].to_look;
	pg_atomic_write_u32(&my_worker_entry()->unsent, unsent);
}

/* Has a node got what was to be sent of the feed? */
void
node_got_feed(OtherNode *other, bool got)
{
	other->in_sync = got;
	show_unsent();
}

/* A node has not got all copies that are for it. */
void
node_lacks(OtherNode *other)
{
	other->lacks = true;
	show_unsent();
}

/* All of the feed is to be sent to all. */
void
nodes_unsure(void)
{
	if (!nodes_in_worker())
	{
		feed_ask_worker();
		return;
	}
	for (int i = 0; i < n_others; i++)
		others[i].in_sync = false;
	unsure++;
	show_unsent();
}

/* Grows whenever what was said of the feed may not hold. */
uint64
nodes_stamp(void)
{
	return unsure;
}

/*
 * Copies on other nodes may be of posts that are gone from here: they are to look, and told so as soon as they
 * answer (nodes_look()). A worker that starts meanwhile is to read that again. In a transaction.
 */
void
nodes_have_all_look(void)
{
	OtherNode  *list;
	int			n = nodes_others(&list);

	for (int i = 0; i < n; i++)
		list[i].to_look = true;
	if (n > 0)
		worker_hold_position(true);
	show_unsent();
}

/* Does a group of nodes have shards? */
static bool
has_shards(int group)
{
	const ShardMap *map = container_shards(CONTAINER_POSTS);

	for (int i = 0; i < map->n; i++)
		if (map->shard[i].group == group)
			return true;
	return false;
}

/* Find out which other nodes there are; what is known of those that stay stays. */
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

/* The other nodes, which are looked for now and then. In a transaction. */
int
nodes_others(OtherNode **list)
{
	if (clock_passed(looked_at, GetCurrentTimestamp(), TELL_EVERY))
		look_at_nodes();
	*list = others;
	return n_others;
}

/* The other node of a group; NULL: there is none. In a transaction. */
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

/* Is a node one that may be tried? */
bool
node_may_answer(const OtherNode *other)
{
	TimestampTz now = GetCurrentTimestamp();

	/* or has the clock been set back since? */
	return now >= other->try_at || now < other->away_at;
}

/* A node could not be reached: leave it alone, the longer the more time that has taken. */
static void
node_is_away(OtherNode *other, TimestampTz since)
{
	TimestampTz now = GetCurrentTimestamp();

	other->away_at = now;
	other->pause = Min(Max(other->pause * 2, FIRST_PAUSE), LONGEST_PAUSE);
	other->try_at = TimestampTzPlusMilliseconds(now, Max(other->pause,
														 10 * TimestampDifferenceMilliseconds(since, now)));
}

/*
 * Have a node run a statement as the containers' owner, unless it could not be reached just now.
 * False: it has not. In a transaction, which it is no part of.
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
	/* did the statement fail, or the connection? */
	if (!done && (strcmp(sql, PING) == 0 || !cluster_send(&node, owner, PING)))
	{
		node_is_away(other, began);
		return false;
	}
	other->try_at = 0;
	other->pause = 0;
	other->answered_at = GetCurrentTimestamp();
	if (!done)
		other->refused_at = other->answered_at;
	return done;
}

/* Does a node answer? In a transaction, which it is no part of. */
bool
node_answers(OtherNode *other)
{
	return node_send(other, PING);
}

/* Has anybody asked who has not been answered, or is all to be sent anew? */
bool
nodes_have_asked(void)
{
	if (question != asked || feed_is_asked_for(false))
		return true;
	for (int i = 0; i < n_others; i++)
	{
		NodeNews	news;

		if (node_news_of(others[i].node.group, &news) &&
			(others[i].try_at == 0 ? news.asks != others[i].asked :
			 news.heard_at > others[i].away_at))
			return true;
	}
	return false;
}

/*
 * Take in what others ask for, and try those that could not be reached. Returns whether
 * there is any to whom all of the feed is to be sent. In a transaction.
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

		/* who tells something is there again */
		if (other->try_at != 0 && heard && news.heard_at > other->away_at)
			other->try_at = looked_at;
		if (other->try_at != 0)
			(void) node_send(other, PING);
		if (other->to_look)
			other->to_look = !node_send(other, LOOK);
		untold |= other->to_look;
		if (heard && news.asks != other->asked)
		{
			other->asked = news.asks;
			other->in_sync = false;
		}
		wanted |= !other->in_sync && other->try_at == 0;
	}
	worker_hold_position(untold);
	show_unsent();
	return wanted;
}

/* Some node that takes what is sent, and lacks copies; NULL: there is none. */
OtherNode *
nodes_lacking(void)
{
	TimestampTz now = GetCurrentTimestamp();

	for (int i = 0; i < n_others; i++)
		if (others[i].lacks && others[i].try_at == 0 &&
			clock_passed(others[i].refused_at, now, FIRST_PAUSE))
			return &others[i];
	return NULL;
}

/*
 * Tell all nodes what is kept here. kept: are the copies and the feed here, as far as this
 * node's posts go, up to date? In a transaction.
 */
void
nodes_tell(bool kept)
{
	int			here = cluster_local_group();

	asked = question;
	for (int i = 0; i < n_others; i++)
	{
		OtherNode  *other = &others[i];
		bool		fine = kept && other->in_sync && !other->lacks;

		(void) node_send(other,
						 psprintf("SELECT " BLOGSTORE_SCHEMA ".tell_node(%d, %d, " INT64_FORMAT ", " INT64_FORMAT ")",
								  here, fine ? blogstore_feed_size : 0,
								  other->in_sync ? other->asked : 0, question));
	}
	show_unsent();
}

/*
 * Has every node that has shards sent what it has to send, and does it go on to? One that is
 * away has sent as many posts as it kept when it was last heard of.
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
			other->confirmed = true;
			other->keeps = news.keeps;
		}
		else if (other->try_at == 0)
			other->confirmed = false;	/* it is there, and does not say so */
		if (!other->has_shards)
			continue;
		if (!other->confirmed)
			all = false;
		size = Min(size, other->keeps);
	}
	if (all && entry != NULL)
	{
		/* what has come since they were served, only snapshots from now on see */
		if (size > pg_atomic_read_u32(&entry->feed_size))
			pg_atomic_write_u32(&entry->served, InvalidTransactionId);
		pg_write_barrier();
		pg_atomic_write_u32(&entry->feed_size, size);
	}
	return all;
}

/*
 * blogstore.tell_node(node_group, keeps, answers, asks): another node's worker tells of itself.
 * Locks: none. Errors: 55000.
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
