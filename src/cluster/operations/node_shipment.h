/*
 * node_shipment.h
 *		Bulk import on a cluster: sends rows to nodes. Used only by
 *		cluster_import.c and node_lookup.c.
 */
#ifndef BLOGSTORE_NODE_SHIPMENT_H
#define BLOGSTORE_NODE_SHIPMENT_H

#include "cluster/remote/remote.h"
#include "import/import.h"

/*
 * Limits of one call of a function on a node: rows, bytes (approximately) and
 * columns.
 */
#define ROWS_A_CALL 5000
#define BYTES_A_CALL (4 * 1024 * 1024)
#define MAX_COLUMNS 5

/*
 * A function that is called on nodes with many rows at once. Each column of
 * these rows becomes an array, which is one argument of the function.
 */
typedef struct NodeCall
{
	const char *name;

	/*
	 * True if the function returns a boolean; false if it returns items. If
	 * the boolean is false, another transaction has interfered, and the import
	 * fails.
	 */
	bool		flag;

	/*
	 * What another transaction has done if the boolean is false, for the error
	 * message; for example "a post was deleted".
	 */
	const char *outdated;

	/* If the function returns items: their type. */
	ItemType	type;

	int			rows;			/* the most rows that one call may pass */

	/*
	 * True if the function has one more argument, after the arrays. Its type
	 * and value are in the next two fields.
	 */
	bool		more;

	Oid			more_type;
	Datum		more_value;

	/* If the function returns items: called for each of them. */
	void		(*take) (void *arg, const BlogItem *item);

	void	   *arg;
} NodeCall;

typedef struct Shipment
{
	const Import *import;
	const NodeCall *call;
	int			ncolumns;
	Oid			type[MAX_COLUMNS];
	int			group;			/* groupid (in pg_dist_node) of the receiver */
	int			n;
	Size		bytes;
	Datum	   *value[MAX_COLUMNS];

	/* memory context of the collected rows, reset after they are sent */
	MemoryContext context;
} Shipment;

extern void ship_begin(Shipment *ship, const Import *import, const NodeCall *call);
extern void ship_row(Shipment *ship, int shard, const Datum *column);
extern void ship_end(Shipment *ship);
extern void ship_query(const Import *import, const NodeCall *call, const char *sql);
extern void ship_nothing(const Import *import, const NodeCall *call);

#endif							/* BLOGSTORE_NODE_SHIPMENT_H */
