/*
 * node_news.c
 *		The last report of each other node of a cluster, in shared memory.
 *
 * The worker of each node sends a report to every other node every second, by
 * calling tell_node() there (node_contact.c). The backend that runs
 * tell_node() stores the report in shared memory, for the worker of its
 * database. If this worker is restarted, earlier reports become invalid.
 *
 * The set-up runs in the postmaster, the rest in the worker and in backends to
 * which other nodes have connected.
 */
#include "postgres.h"

#include "cluster/view_delivery/other_nodes.h"
#include "views/launcher/worker_entries.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

typedef struct NewsOfWorker
{
	/*
	 * The pid of the worker to which the other nodes have reported. A
	 * restarted worker has another pid, and ignores the reports.
	 */
	int			pid;

	/*
	 * 1 if a backend has asked the worker to send all feed rows to all nodes;
	 * otherwise 0.
	 */
	pg_atomic_uint32 resend;

	NodeNews	node[MAX_OTHER_NODES];
} NewsOfWorker;

/* an array in shared memory, with one element for each database */
static NewsOfWorker *all_news = NULL;

static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

static void
news_request(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(sizeof(NewsOfWorker) * MAX_DATABASES);
}

static void
news_startup(void)
{
	bool		found;

	if (previous_startup_hook)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	all_news = ShmemInitStruct("blogstore nodes", sizeof(NewsOfWorker) * MAX_DATABASES,
							   &found);
	if (!found)
	{
		memset(all_news, 0, sizeof(NewsOfWorker) * MAX_DATABASES);
		for (int i = 0; i < MAX_DATABASES; i++)
			pg_atomic_init_u32(&all_news[i].resend, 0);
	}
	LWLockRelease(AddinShmemInitLock);
}

/*
 * Install the hooks that request and initialize the shared memory for the
 * reports of other nodes. Called once, when the library is preloaded.
 */
void
node_news_init(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = news_request;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = news_startup;
}

static NewsOfWorker *
news_of(const WorkerEntry *entry)
{
	return &all_news[entry - launch_shared->entry];
}

/*
 * Return the element of news->node[] for a node. If the node has no element
 * yet, clear the element with the oldest report, and return that element.
 *
 * group: the node's groupid in pg_dist_node
 */
static NodeNews *
place_of(NewsOfWorker *news, int group)
{
	NodeNews   *oldest = NULL;

	for (int i = 0; i < MAX_OTHER_NODES; i++)
	{
		NodeNews   *place = &news->node[i];

		if (place->used && place->group == group)
			return place;
		if (oldest == NULL || place->heard_at < oldest->heard_at)
			oldest = place;
	}
	/*
	 * Unused elements have heard_at = 0, so they are taken first. If all are
	 * used, the node of the oldest report has probably been removed from the
	 * cluster.
	 */
	memset(oldest, 0, sizeof(*oldest));
	oldest->used = true;
	oldest->group = group;
	return oldest;
}

/*
 * Store the report of another node. Wake the worker if the report differs from
 * the node's previous report.
 */
void
node_news_take(const NodeNews *news)
{
	WorkerEntry *entry = my_worker_entry();
	NewsOfWorker *told;
	NodeNews   *place;
	bool		asked;

	if (entry == NULL)
		return;
	told = news_of(entry);
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	if (told->pid != entry->pid)
		memset(told->node, 0, sizeof(told->node));
	told->pid = entry->pid;
	place = place_of(told, news->group);
	asked = place->asks != news->asks || place->keeps != news->keeps ||
		place->answers != news->answers;
	*place = *news;
	place->used = true;
	place->heard_at = GetCurrentTimestamp();
	if (asked)
		worker_wake_at_once(entry);
	LWLockRelease(launch_shared->lock);
}

/*
 * Set *news to the last report of a node. Returns false if there is no report.
 */
bool
node_news_of(int group, NodeNews *news)
{
	WorkerEntry *entry = my_worker_entry();
	NewsOfWorker *told;
	bool		found = false;

	memset(news, 0, sizeof(*news));
	if (entry == NULL)
		return false;
	told = news_of(entry);
	LWLockAcquire(launch_shared->lock, LW_SHARED);
	for (int i = 0; i < MAX_OTHER_NODES && !found && told->pid == entry->pid; i++)
	{
		found = told->node[i].used && told->node[i].group == group;
		if (found)
			*news = told->node[i];
	}
	LWLockRelease(launch_shared->lock);
	return found;
}

/*
 * Ask the worker to send all feed rows of this node to all nodes, by setting
 * NewsOfWorker.resend in shared memory. Called in backends.
 */
void
feed_ask_worker(void)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry != NULL)
		pg_atomic_write_u32(&news_of(entry)->resend, 1);
}

/*
 * Return whether a backend has called feed_ask_worker(), to ask the worker to
 * send all feed rows to all nodes.
 *
 * take: whether to reset the flag that feed_ask_worker() has set
 */
bool
feed_is_asked_for(bool take)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry == NULL)
		return false;
	return (take ? pg_atomic_exchange_u32(&news_of(entry)->resend, 0) :
			pg_atomic_read_u32(&news_of(entry)->resend)) != 0;
}
