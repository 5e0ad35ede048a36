/*
 * create_cluster.h
 *		Statements that create the tables of a cluster. For create_cluster.c
 *		only.
 */
#ifndef BLOGSTORE_CREATE_CLUSTER_H
#define BLOGSTORE_CREATE_CLUSTER_H

#include "admin/create_containers.h"

/* create_cluster_sql.c */
extern const Statements create_cluster_sql;
extern const Statements spread_cluster_sql;
extern const Statements create_unsent_sql;

/* cluster_status.c */
extern void cluster_status_grant(Oid owner);

#endif							/* BLOGSTORE_CREATE_CLUSTER_H */
