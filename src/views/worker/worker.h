/*
 * worker.h
 *		Functions of the worker for other folders: repair() folds all deltas,
 *		and the progress view shows the size of a rebuild.
 */
#ifndef BLOGSTORE_WORKER_H
#define BLOGSTORE_WORKER_H

/* folding.c */
extern void fold_everything(void);

/* views_rebuild.c */
extern int64 rebuild_estimate(void);

#endif							/* BLOGSTORE_WORKER_H */
