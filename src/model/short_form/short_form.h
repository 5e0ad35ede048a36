/*
 * short_form.h
 *		The short form of a post: the beginning of its content, and some of its
 *		properties.
 */
#ifndef BLOGSTORE_SHORT_FORM_H
#define BLOGSTORE_SHORT_FORM_H

#include "storage/blog_item.h"

#include "tcop/dest.h"
#include "utils/tuplestore.h"

extern text *content_shorten(Datum content);
extern void item_shorten(BlogItem *item);
extern DestReceiver *short_receiver_create(Tuplestorestate *rows);

#endif							/* BLOGSTORE_SHORT_FORM_H */
