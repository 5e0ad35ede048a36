/*
 * worker.h
 *		What other folders use of the worker: repair() folds all deltas (adds
 *		the counts that wait in rows of their own to the posts' counters), and
 *		the progress view asks for the size of a rebuild.
 */
#ifndef BLOGSTORE_WORKER_H
#define BLOGSTORE_WORKER_H

/* folding.c */
extern void fold_everything(void);

/* views_rebuild.c */
extern int64 rebuild_estimate(void);

#endif							/* BLOGSTORE_WORKER_H */
