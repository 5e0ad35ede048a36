/*
 * cluster.h
 *		What blogstore.c calls of src/cluster/.
 */
#ifndef BLOGSTORE_CLUSTER_H
#define BLOGSTORE_CLUSTER_H

extern void cluster_init(void);

#endif							/* BLOGSTORE_CLUSTER_H */
