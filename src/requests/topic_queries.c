/*
 * topic_queries.c
 *		Queries on topics: list the posts of a topic, and list topics.
 *
 * Both read the container topics, which the worker keeps. Unlike other lists,
 * they have no other source: the posts themselves have no index by topic.
 *
 * On a cluster, each node runs both for the topics of its own posts
 * (request_is_part). The node that was asked merges the rows.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/settings.h"
#include "model/topics/topics.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "utils/snapmgr.h"

QUERY_FUNCTION(list_topic_posts, REQUEST_LIST_TOPIC_POSTS, ITEM_POST,
			   .containers = "topics, posts", .view = true,
			   .page_size_arg = 2);
QUERY_FUNCTION(list_topics, REQUEST_LIST_TOPICS, ITEM_TOPIC,
			   .containers = "topics", .view = true, .page_size_arg = 2);

/*
 * Raise an error (55000) if queries must not read the topics: the site keeps
 * none, or the worker has not built them yet, or does not keep them up to
 * date.
 */
static void
need_topics(void)
{
	const ClusterCalls *cluster = cluster_calls();

	if (!topics_are_kept())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("posts have no topics, because blogstore.topic_property is empty"),
				 errhint("Set blogstore.topic_property to the property of posts that holds their topics, and reload the configuration."),
				 err_fields(NULL, NULL, RULE_TOPICS)));
	if (!topics_ready(GetActiveSnapshot()) ||
		(cluster != NULL && !cluster->topics_complete()))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("topics are not ready"),
				 errhint("Wait until the worker has built the views; if it is stopped, call blogstore.start_worker(). See blogstore.stat_worker and blogstore.progress."),
				 err_fields(NULL, NULL, RULE_TOPICS)));
}

/*
 * Begin the query list_topic_posts(), which returns the posts of a topic in
 * short form. A text that cannot be a topic has no posts. Errors: 22004,
 * 22023, 54000, 55000.
 */
static void
list_topic_posts(RequestScan *scan, FunctionCallInfo fcinfo)
{
	Datum		topic = need_text(fcinfo, 0, "topic");

	get_page(fcinfo, 1, &scan->page);
	query_ready(scan);
	need_topics();
	if (!topic_of_text(topic, &topic))
		return;
	page_find(&scan->page, ITEM_POST, NULL, NULL);
	query_topic_posts(scan, topic);
}

/*
 * Begin the query list_topics(), which returns the topics that begin with a
 * prefix, and the number of posts of each. Errors: 22004, 22023, 54000, 55000.
 */
static void
list_topics(RequestScan *scan, FunctionCallInfo fcinfo)
{
	Datum		prefix = need_text(fcinfo, 0, "prefix");
	Datum		after = (Datum) 0;

	scan->page.size = get_page_size(fcinfo, 1);
	if (!PG_ARGISNULL(2))
	{
		after = need_text(fcinfo, 2, "after_topic");
		if (!has_name_key(after))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("after_topic is too long"),
					 errhint("Pass the topic of the last row of the page before."),
					 err_fields(NULL, "after_topic", RULE_MAX_LENGTH)));
		after = name_key(after);
	}
	query_ready(scan);
	need_topics();
	if (has_name_key(prefix))
		query_topics(scan, name_key(prefix), after);
}
