/*
 * cluster.c
 *		Fills in ClusterCalls, the struct of functions through which other
 *		folders of src/ call src/cluster/. storage/layout/cluster_calls.h
 *		describes each function.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "cluster/citus/citus.h"
#include "base/preload.h"
#include "cluster/cluster.h"
#include "cluster/operations/operations.h"
#include "cluster/remote/remote.h"
#include "cluster/user_items/reference_users.h"
#include "cluster/view_delivery/view_delivery.h"
#include "storage/layout/cluster_calls.h"

static const ClusterCalls calls = {
	.read_partitions = shards_read,
	.names_partition_of = shard_has_name_of,
	.partition_of_key = shards_of_key,
	.hold_partition = shards_hold,
	.hold_copies = shards_hold_copies,

	.insert_user = reference_user_insert,
	.lock_user = reference_user_lock,
	.update_user = reference_user_update,
	.delete_user = reference_user_delete,

	.settle = remote_settle,
	.serve_command = remote_command,
	.begin_query = remote_begin_query,
	.find_post_of_user = remote_find_post_of_user,
	.topics_complete = nodes_topics_complete,

	.refresh_batch = deliver_batch,
	.build_copies = deliver_missing_copies,
	.make_feed = deliver_feed,
	.job_step = nodes_job_step,
	.worker_turn = nodes_turn,
	.partitions_changed = nodes_partitions_changed,
	.changes_lost = nodes_changes_lost,
	.check_tables = nodes_check_tables,

	.create_containers = cluster_create_containers,
	.call_nodes = cluster_call_nodes,
	.verify_source = cluster_verify_source,
	.views_look_begin = cluster_views_look_begin,
	.views_look_end = cluster_views_look_end,
	.repair = cluster_repair,

	.export_documents = cluster_export_documents,
	.import_target = &cluster_import_target
};

/*
 * Register the functions of src/cluster/ (ClusterCalls). Called in each
 * process when the library is loaded, even if the library is not preloaded. A
 * session that decodes a slot may load the library as the output plugin, and
 * the plugin calls some of these functions.
 */
void
cluster_init(void)
{
	cluster_library = &calls;
	cluster_may_come = true;
	if (library_preloaded)
		node_news_init();
}
