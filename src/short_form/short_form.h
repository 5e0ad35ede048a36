/*
 * short_form.h
 *		The short form of a post, which copies, the feed and lists have.
 */
#ifndef BLOGSTORE_SHORT_FORM_H
#define BLOGSTORE_SHORT_FORM_H

#include "layout/item.h"

extern void item_shorten(BlogItem *item);

#endif							/* BLOGSTORE_SHORT_FORM_H */
