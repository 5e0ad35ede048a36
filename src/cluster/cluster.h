/*
 * cluster.h
 *		Declares the function by which blogstore.c registers src/cluster/
 *		when the library is loaded.
 */
#ifndef BLOGSTORE_CLUSTER_H
#define BLOGSTORE_CLUSTER_H

extern void cluster_init(void);

#endif							/* BLOGSTORE_CLUSTER_H */
