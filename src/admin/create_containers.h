/*
 * create_containers.h
 *		The statements that make the tables, for create_containers.c, and
 *		cluster/distribute/, which makes those of a cluster beside tables that are filled.
 */
#ifndef BLOGSTORE_CREATE_CONTAINERS_H
#define BLOGSTORE_CREATE_CONTAINERS_H

#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"

typedef struct Statements
{
	int			n;
	const char *const *sql;
} Statements;

/* What is being made, and for whom. */
typedef struct Creation
{
	Oid			owner;
	int			partitions;
	bool		spread;			/* over a cluster */
	bool		cluster;		/* what is there may be spread already */
	bool		node;			/* what a node of one has for itself, alone */
	const char *suffix;			/* of tables that cannot have their names yet; NULL: none */
	bool		container[N_CONTAINERS];	/* is it missing? */
	bool		table[N_BOOKKEEPING];
	int			missing;		/* how many of all of these are */
} Creation;

extern const Statements create_container_sql[N_CONTAINERS];
extern const Statements create_partition_sql[N_CONTAINERS];
extern const Statements create_bookkeeping_sql[N_BOOKKEEPING];
/* on a cluster */
extern const Statements create_cluster_sql;
extern const Statements spread_cluster_sql;

#define MAX_PARTITIONS 1024

/* create_run.c */
extern int	create_get_partitions(FunctionCallInfo fcinfo);
extern uint64 create_run_sql(const char *sql);
extern void create_give_away(const Creation *creation, Oid relid);
extern void create_table_of_bookkeeping(const Creation *creation,
										Bookkeeping table);

/* create_cluster.c */
extern bool cluster_is_wanted(FunctionCallInfo fcinfo, int arg);
extern void cluster_require(const char *call);
extern void cluster_make_tables(const Creation *creation);
extern void cluster_spread_tables(const Creation *creation);
extern void cluster_grant_here(const Creation *creation);
extern int	cluster_make_on_nodes(const Creation *creation);

/* cluster_status.c */
extern void cluster_status_grant(Oid owner);

#endif							/* BLOGSTORE_CREATE_CONTAINERS_H */
