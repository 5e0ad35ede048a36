/*
 * invalidation.h
 *		Who remembers something about tables, roles or types hears here when it
 *		has changed.
 */
#ifndef BLOGSTORE_INVALIDATION_H
#define BLOGSTORE_INVALIDATION_H

/* invalidation.c: definitions of tables that change */
typedef void (*InvalidationListener) (Oid relid);
typedef void (*CatalogListener) (void);

extern void invalidation_listen(InvalidationListener listener);
extern void invalidation_listen_catalog(int cache, CatalogListener listener);
extern void invalidation_spare(bool spare);

#endif							/* BLOGSTORE_INVALIDATION_H */
