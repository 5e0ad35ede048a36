/*
 * node_shipment.h
 *		Bulk import on a cluster: sending rows to nodes, for cluster_import.c and
 *		node_lookup.c alone.
 */
#ifndef BLOGSTORE_NODE_SHIPMENT_H
#define BLOGSTORE_NODE_SHIPMENT_H

#include "cluster/remote/remote.h"
#include "import/import.h"

/* How many rows go into one call, and about how many bytes. */
#define ROWS_A_CALL 5000
#define BYTES_A_CALL (4 * 1024 * 1024)
#define MAX_COLUMNS 3

/* A function of the nodes' that is called with rows, whose columns are its first arguments. */
typedef struct NodeCall
{
	const char *name;
	bool		flag;			/* it returns true, or the import is outdated */
	const char *outdated;		/* by what */
	ItemType	type;			/* of the items that it returns, if it does */
	int			rows;			/* at most in one call */
	bool		more;			/* is there one more argument? */
	Oid			more_type;
	Datum		more_value;
	void		(*take) (void *arg, const BlogItem *item);	/* what it returns */
	void	   *arg;
} NodeCall;

/* Rows on their way to nodes. */
typedef struct Shipment
{
	const Import *import;
	const NodeCall *call;
	int			ncolumns;
	Oid			type[MAX_COLUMNS];
	int			group;			/* of the node that they go to */
	int			n;
	Size		bytes;
	Datum	   *value[MAX_COLUMNS];
	MemoryContext context;		/* "blogstore shipped rows": a call's */
} Shipment;

extern void ship_begin(Shipment *ship, const Import *import, const NodeCall *call);
extern void ship_row(Shipment *ship, int shard, const Datum *column);
extern void ship_end(Shipment *ship);
extern void ship_query(const Import *import, const NodeCall *call, const char *sql);
extern void ship_nothing(const Import *import, const NodeCall *call);

#endif							/* BLOGSTORE_NODE_SHIPMENT_H */
