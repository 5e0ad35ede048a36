/*
 * node_news.c
 *		What other nodes of a cluster have told this one of themselves.
 *
 * Each node's worker tells all others every second whether it keeps what the views there have
 * of its posts, and asks to be told (cluster/view_delivery/node_contact.c). What was told
 * is here, in the worker's entry, as long as that worker lives.
 *
 * Runs in backends that other nodes have connected to, and in the worker.
 */
#include "postgres.h"

#include "views/launcher/worker_entries.h"

#include "utils/timestamp.h"

/* The place for a group of nodes; NULL: there is none left. */
static NodeNews *
place_of(WorkerEntry *entry, int group, bool make)
{
	NodeNews   *oldest = NULL;

	for (int i = 0; i < MAX_OTHER_NODES; i++)
	{
		NodeNews   *news = &entry->node[i];

		if (news->used && news->group == group)
			return news;
		if (oldest == NULL || news->heard_at < oldest->heard_at)
			oldest = news;
	}
	if (!make)
		return NULL;
	/* of nodes that are gone nothing is heard */
	memset(oldest, 0, sizeof(*oldest));
	oldest->used = true;
	oldest->group = group;
	return oldest;
}

/* Keep what a node has told, and wake the worker if that is a question. */
void
node_news_take(const NodeNews *news)
{
	WorkerEntry *entry = my_worker_entry();
	NodeNews   *place;
	bool		asked;

	if (entry == NULL)
		return;
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	place = place_of(entry, news->group, true);
	asked = place->asks != news->asks || place->keeps != news->keeps ||
		place->answers != news->answers;
	*place = *news;
	place->used = true;
	place->heard_at = GetCurrentTimestamp();
	if (asked)
		worker_wake_at_once(entry);
	LWLockRelease(launch_shared->lock);
}

/* What a node has told; false: nothing yet. */
bool
node_news_of(int group, NodeNews *news)
{
	WorkerEntry *entry = my_worker_entry();
	NodeNews   *place;

	memset(news, 0, sizeof(*news));
	if (entry == NULL)
		return false;
	LWLockAcquire(launch_shared->lock, LW_SHARED);
	place = place_of(entry, group, false);
	if (place != NULL)
		*news = *place;
	LWLockRelease(launch_shared->lock);
	return place != NULL;
}
