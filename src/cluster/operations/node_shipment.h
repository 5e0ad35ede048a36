/*
 * node_shipment.h
 *		Bulk import on a cluster: sending rows to nodes. For cluster_import.c
 *		and node_lookup.c alone.
 */
#ifndef BLOGSTORE_NODE_SHIPMENT_H
#define BLOGSTORE_NODE_SHIPMENT_H

#include "cluster/remote/remote.h"
#include "import/import.h"

/* Limits of one call: rows, and approximate bytes. */
#define ROWS_A_CALL 5000
#define BYTES_A_CALL (4 * 1024 * 1024)
#define MAX_COLUMNS 3

/*
 * A function to be called on nodes. The columns of the rows are its first
 * arguments.
 */
typedef struct NodeCall
{
	const char *name;
	bool		flag;			/* it returns a boolean; false means that the
								 * import is outdated */
	const char *outdated;		/* why, for the error message */
	ItemType	type;			/* of the items that it returns, unless flag */
	int			rows;			/* at most, in one call */
	bool		more;			/* pass one more argument */
	Oid			more_type;
	Datum		more_value;
	void		(*take) (void *arg, const BlogItem *item);	/* called for each
															 * item returned */
	void	   *arg;
} NodeCall;

/* Rows being sent to nodes. */
typedef struct Shipment
{
	const Import *import;
	const NodeCall *call;
	int			ncolumns;
	Oid			type[MAX_COLUMNS];
	int			group;			/* node group that they are sent to */
	int			n;
	Size		bytes;
	Datum	   *value[MAX_COLUMNS];
	MemoryContext context;		/* "blogstore shipped rows": holds the rows of
								 * one call */
} Shipment;

extern void ship_begin(Shipment *ship, const Import *import, const NodeCall *call);
extern void ship_row(Shipment *ship, int shard, const Datum *column);
extern void ship_end(Shipment *ship);
extern void ship_query(const Import *import, const NodeCall *call, const char *sql);
extern void ship_nothing(const Import *import, const NodeCall *call);

#endif							/* BLOGSTORE_NODE_SHIPMENT_H */
