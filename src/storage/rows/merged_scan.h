/*
 * merged_scan.h
 *		Items of one type of all partitions, as one list in order.
 */
#ifndef BLOGSTORE_MERGED_SCAN_H
#define BLOGSTORE_MERGED_SCAN_H

#include "storage/rows/rows.h"

typedef struct MergedScan MergedScan;

/* which of two items comes first? negative: a */
typedef int (*ItemOrder) (const BlogItem *a, const BlogItem *b);

/* by (creation_date, id) */
extern int	merged_newest_first(const BlogItem *a, const BlogItem *b);
extern int	merged_oldest_first(const BlogItem *a, const BlogItem *b);

/* the query's path has the order; its partition does not count */
extern MergedScan *merged_scan_begin(const ItemQuery *query, ItemOrder order);
/* the present item, which holds until the next; NULL: past the end */
extern const BlogItem *merged_scan_item(const MergedScan *merged);
extern ItemScan *merged_scan_source(const MergedScan *merged);
extern void merged_scan_next(MergedScan *merged);
extern void merged_scan_end(MergedScan *merged);

#endif							/* BLOGSTORE_MERGED_SCAN_H */
