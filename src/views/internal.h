/*
 * internal.h
 *		What the files of views/ share with each other alone.
 */
#ifndef BLOGSTORE_VIEWS_INTERNAL_H
#define BLOGSTORE_VIEWS_INTERNAL_H

#include "container/container.h"
#include "views/views.h"

/* copies.c */
extern bool copy_current(const BlogItem *copy, const BlogItem *post);

/* by_author.c: all posts, or all copies, by (user_id, creation_date, id) */
typedef struct AuthorList AuthorList;

extern AuthorList *author_list_begin(const ItemQuery *query);
extern const BlogItem *author_list_item(const AuthorList *list);
extern ItemScan *author_list_scan(const AuthorList *list);
extern void author_list_next(AuthorList *list);
extern void author_list_end(AuthorList *list);
extern int	author_order(const BlogItem *a, const BlogItem *b);

/* careful.c */
extern bool careful_now(void);
extern void careful_remember_copy(const PostKey *key);

#endif							/* BLOGSTORE_VIEWS_INTERNAL_H */
