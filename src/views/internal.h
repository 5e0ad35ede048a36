/*
 * internal.h
 *		What the files of views/ share with each other alone.
 */
#ifndef BLOGSTORE_VIEWS_INTERNAL_H
#define BLOGSTORE_VIEWS_INTERNAL_H

#include "views/views.h"

/* copies.c */
extern bool copy_current(const BlogItem *copy, const BlogItem *post);

/* careful.c */
extern bool careful_now(void);
extern void careful_remember_copy(const PostKey *key);

#endif							/* BLOGSTORE_VIEWS_INTERNAL_H */
