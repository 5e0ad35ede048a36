/*
 * invalidation.h
 *		Invalidations for the caches of blogstore: changes of relations and
 *		catalogs.
 */
#ifndef BLOGSTORE_INVALIDATION_H
#define BLOGSTORE_INVALIDATION_H

typedef void (*InvalidationListener) (Oid relid);
typedef void (*CatalogListener) (void);

extern void invalidation_listen(InvalidationListener listener);
extern void invalidation_listen_catalog(int cache, CatalogListener listener);
extern void invalidation_spare(bool spare);

#endif							/* BLOGSTORE_INVALIDATION_H */
