/*
 * results.h
 *		What requests return: items as rows and as JSON documents. Also
 *		handles the custom properties of items.
 */
#ifndef BLOGSTORE_RESULTS_H
#define BLOGSTORE_RESULTS_H

#include "storage/blog_item.h"

#include "fmgr.h"
#include "utils/jsonb.h"

/* item_document.c */
extern void item_columns(const BlogItem *item, ItemType type, Datum *values,
						 bool *nulls);
extern Datum item_row(const BlogItem *item, ItemType type, TupleDesc tupdesc);

/* row_types.c */
extern bool row_type_fits(TupleDesc desc, ItemType type);
extern void check_row_type(TupleDesc desc, ItemType type);
extern void check_row_type_of(Oid row_type, ItemType type);
extern Datum return_item(FunctionCallInfo fcinfo, const BlogItem *item,
						 ItemType type);

/* item_properties.c */
extern bool property_key_taken(const char *key);
extern const char *properties_problem(Datum properties, const char **rule);
extern bool jsonb_prints_longer(Jsonb *jsonb, int64 limit);
extern bool properties_of_document(Jsonb *document, Datum *properties);
extern void check_properties(Datum properties);
extern void set_properties(BlogItem *item, Datum properties);
extern bool get_properties(FunctionCallInfo fcinfo, int arg, BlogItem *item);

#endif							/* BLOGSTORE_RESULTS_H */
