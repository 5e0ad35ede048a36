/*
 * worker.h
 *		What others may use of the worker of a database: what repair() and
 *		get_progress() share with it.
 */
#ifndef BLOGSTORE_WORKER_H
#define BLOGSTORE_WORKER_H

/* folding.c: deltas into the posts that they count on */
extern void fold_everything(void);

/* views_rebuild.c: how much a rebuild has to look at */
extern int64 rebuild_estimate(void);

#endif							/* BLOGSTORE_WORKER_H */
