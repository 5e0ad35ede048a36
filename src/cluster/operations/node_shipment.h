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
 * A function that nodes are called to execute. Its first arguments are the
 * columns of the rows that are sent.
 */
typedef struct NodeCall
{
	const char *name;

	/*
	 * True if the function returns a boolean. False then means that another
	 * transaction has interfered, so that the import must fail.
	 */
	bool		flag;

	/*
	 * If the function returns false: what has happened, for the error message.
	 */
	const char *outdated;

	/* The type of the items that the function returns, unless flag is true. */
	ItemType	type;

	int			rows;			/* the most rows that one call takes */

	/* true if the function takes one more argument */
	bool		more;

	Oid			more_type;
	Datum		more_value;

	/* Called for each item that the function returns. */
	void		(*take) (void *arg, const BlogItem *item);

	void	   *arg;
} NodeCall;

/* Rows on their way to nodes, sent by calls of one function. */
typedef struct Shipment
{
	const Import *import;
	const NodeCall *call;
	int			ncolumns;
	Oid			type[MAX_COLUMNS];
	int			group;			/* the node group to which rows are sent */
	int			n;
	Size		bytes;
	Datum	   *value[MAX_COLUMNS];

	/* Holds the rows of one call. Reset after the call. */
	MemoryContext context;
} Shipment;

extern void ship_begin(Shipment *ship, const Import *import, const NodeCall *call);
extern void ship_row(Shipment *ship, int shard, const Datum *column);
extern void ship_end(Shipment *ship);
extern void ship_query(const Import *import, const NodeCall *call, const char *sql);
extern void ship_nothing(const Import *import, const NodeCall *call);

#endif							/* BLOGSTORE_NODE_SHIPMENT_H */
