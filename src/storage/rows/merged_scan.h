/*
 * merged_scan.h
 *		Reads the items that match one or more queries as one ordered list.
 */
#ifndef BLOGSTORE_MERGED_SCAN_H
#define BLOGSTORE_MERGED_SCAN_H

#include "storage/rows/rows.h"

typedef struct MergedScan MergedScan;

/*
 * A function that compares two items. Returns a negative number if "a" comes
 * before "b" in the list.
 */
typedef int (*ItemOrder) (const BlogItem *a, const BlogItem *b);

extern int	merged_newest_first(const BlogItem *a, const BlogItem *b);
extern int	merged_oldest_first(const BlogItem *a, const BlogItem *b);

extern MergedScan *merged_scan_begin(const ItemQuery *query, int n,
									 ItemOrder order);
extern MergedScan *merged_scan_of_queries(const ItemQuery *query, int n,
										  ItemOrder order);
extern ItemScan *merged_scan_first(const MergedScan *merged);
extern const BlogItem *merged_scan_item(const MergedScan *merged);
extern ItemScan *merged_scan_source(const MergedScan *merged);
extern void merged_scan_next(MergedScan *merged);
extern void merged_scan_end(MergedScan *merged);

#endif							/* BLOGSTORE_MERGED_SCAN_H */
