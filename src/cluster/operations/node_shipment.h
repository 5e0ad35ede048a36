/*
 * node_shipment.h
 *		Bulk import on a cluster: sends rows to nodes. For cluster_import.c
 *		and node_lookup.c only.
 */
#ifndef BLOGSTORE_NODE_SHIPMENT_H
#define BLOGSTORE_NODE_SHIPMENT_H

#include "cluster/remote/remote.h"
#include "import/import.h"

/* The most rows, bytes (approximately) and columns that one call takes. */
#define ROWS_A_CALL 5000
#define BYTES_A_CALL (4 * 1024 * 1024)
#define MAX_COLUMNS 3

/*
 * A function that is called on nodes. Each column of the rows that are sent
 * becomes an array, which is one argument of the function.
 */
typedef struct NodeCall
{
	const char *name;

	/*
	 * True if the function returns a boolean instead of items. If it returns
	 * false, another transaction has interfered, and the import fails.
	 */
	bool		flag;

	/*
	 * What has happened if the function returns false, for the error message.
	 */
	const char *outdated;

	/*
	 * The type of the items that the function returns; not used if flag is
	 * true.
	 */
	ItemType	type;

	int			rows;			/* the most rows sent in one call */

	/* True if more_value is passed as one more argument, after the arrays. */
	bool		more;

	Oid			more_type;
	Datum		more_value;

	/*
	 * Called for each item that the function returns; not used if flag is
	 * true.
	 */
	void		(*take) (void *arg, const BlogItem *item);

	void	   *arg;
} NodeCall;

/* rows that were collected, and not sent yet */
typedef struct Shipment
{
	const Import *import;
	const NodeCall *call;
	int			ncolumns;
	Oid			type[MAX_COLUMNS];
	int			group;			/* the node group to which the rows are sent */
	int			n;
	Size		bytes;
	Datum	   *value[MAX_COLUMNS];

	/* Contains the rows of one call. It is reset after the call. */
	MemoryContext context;
} Shipment;

extern void ship_begin(Shipment *ship, const Import *import, const NodeCall *call);
extern void ship_row(Shipment *ship, int shard, const Datum *column);
extern void ship_end(Shipment *ship);
extern void ship_query(const Import *import, const NodeCall *call, const char *sql);
extern void ship_nothing(const Import *import, const NodeCall *call);

#endif							/* BLOGSTORE_NODE_SHIPMENT_H */
