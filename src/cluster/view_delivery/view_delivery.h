/*
 * view_delivery.h
 *		Delivery of the views on a cluster. The node that has a post sends the
 *		post's copy to the node that has the author's shard. It sends the
 *		post's feed row to all nodes.
 *
 * Functions that are called through ClusterCalls are described in
 * storage/layout/cluster_calls.h.
 */
#ifndef BLOGSTORE_VIEW_DELIVERY_H
#define BLOGSTORE_VIEW_DELIVERY_H

#include "storage/layout/cluster_calls.h"
#include "views/copies_and_feed/copies_and_feed.h"

#include "access/tupdesc.h"

/* batch_delivery.c */
extern void deliver_batch(const DirtySet *dirty, const PostKey *posts, int n,
						  List **topics);
extern bool deliver_missing_copies(ItemPlace *place, int64 *done);
extern void deliver_feed(void);

/* copy_delivery.c */
extern Datum copies_row(ManyPosts *many, const PostKey *key, TupleDesc desc);

/* arrived_shards.c */
extern ClusterStep nodes_job_step(struct Job *job);
extern void nodes_partitions_changed(void);
extern bool nodes_topics_complete(void);
extern bool nodes_topics_exact(void);

/* worker_nodes.c */
extern bool nodes_turn(struct Worker *worker);
extern void nodes_changes_lost(bool first);
extern bool nodes_check_tables(void);

/* node_news.c */
extern void node_news_init(void);

#endif							/* BLOGSTORE_VIEW_DELIVERY_H */
