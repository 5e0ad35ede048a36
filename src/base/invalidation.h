/*
 * invalidation.h
 *		Registers functions that the process calls when a relation or a system
 *		catalog has changed, so that blogstore's caches can be invalidated.
 */
#ifndef BLOGSTORE_INVALIDATION_H
#define BLOGSTORE_INVALIDATION_H

typedef void (*InvalidationListener) (Oid relid);
typedef void (*CatalogListener) (void);

extern void invalidation_listen(InvalidationListener listener);
extern void invalidation_listen_catalog(int cache, CatalogListener listener);
extern void invalidation_spare(bool spare);

#endif							/* BLOGSTORE_INVALIDATION_H */
