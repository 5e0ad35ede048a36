/*
 * cluster_import.h
 *		Bulk import on a cluster: declarations that only the files of this
 *		folder use.
 */
#ifndef BLOGSTORE_CLUSTER_IMPORT_H
#define BLOGSTORE_CLUSTER_IMPORT_H

#include "import/import.h"

/* cluster_import_sql.c */
extern const char *const import_spread_tables_sql[];
extern const int import_spread_tables_n;
extern const char *const import_post_keys_sql;
extern const char *const import_there_keys_sql;
extern const char *const import_child_keys_sql[N_IMPORTED];
extern const char *const import_liked_keys_sql;
extern const char *const import_follower_keys_sql;
extern const char *const import_follow_keys_sql;
extern const char *const import_lock_keys_sql;
extern const char *const import_node_comment_counts_sql;
extern const char *const import_given_names_sql;

/* node_lookup.c */
extern TupleDesc node_row_desc(ItemType type);
extern ItemLookup *node_lookup_begin(const Import *import, ItemType type,
									 ItemType rows);

#endif							/* BLOGSTORE_CLUSTER_IMPORT_H */
