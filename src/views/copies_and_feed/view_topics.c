/*
 * view_topics.c
 *		Refreshing the topics of changed posts, which are given by the keys
 *		that the change feed reports.
 *
 * Runs in the worker. The caller has called views_lock().
 */
#include "postgres.h"

#include "model/topics/topics.h"
#include "views/copies_and_feed/copies_and_feed.h"

/*
 * Make the topics of n posts agree with the posts, which are read with the
 * active snapshot. Errors, locks and "topics": those of topics_refresh().
 */
void
view_topics_refresh(const PostKey *keys, int n, List **topics)
{
	pg_uuid_t  *ids = palloc(sizeof(pg_uuid_t) * Max(n, 1));

	for (int i = 0; i < n; i++)
		ids[i] = keys[i].post_id;
	topics_refresh(ids, n, topics);
	pfree(ids);
}
