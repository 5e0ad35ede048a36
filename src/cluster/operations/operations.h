/*
 * operations.h
 *		Operations that span the nodes of a cluster, used by cluster/cluster.c,
 *		and functions that create tables, used by cluster/distribute/.
 */
#ifndef BLOGSTORE_OPERATIONS_H
#define BLOGSTORE_OPERATIONS_H

#include "admin/create_containers.h"
#include "admin/verify.h"
#include "import/import.h"

#include "fmgr.h"
#include "tcop/dest.h"

/* create_cluster.c */
extern bool cluster_create_containers(Creation *creation, NullableDatum distributed);
extern void cluster_require(const char *call);
/*
 * create_cluster_sql.c: the statement that creates the view posts_with_counts
 * on a cluster
 */
extern const char create_cluster_view_sql[];

extern void cluster_make_tables(const Creation *creation, const char *suffix);
extern void cluster_spread_tables(const Creation *creation, const char *suffix);
extern int	cluster_make_on_nodes(const Creation *creation);

/*
 * cluster_control.c, cluster_verify.c, cluster_settled.c, cluster_repair.c,
 * cluster_export.c
 */
extern bool cluster_call_nodes(const char *name, const Oid *types,
							   FunctionCallInfo fcinfo, bool *all);
extern void cluster_verify_source(VerifySource *source);
extern bool cluster_topics_comparable(void);
extern bool cluster_views_look_begin(ViewsLook *look);
extern ArrayType *cluster_views_look_end(const ViewsLook *look, ArrayType *post_ids);
extern int64 cluster_repair(bool with_views);
extern void cluster_export_documents(DestReceiver *dest);

/* cluster_import.c */
extern const ImportTarget cluster_import_target;
extern char *cluster_own_shard(const char *table);

#endif							/* BLOGSTORE_OPERATIONS_H */
