/*
 * guard.h
 *		What the containers' owner has attached to them (triggers, expressions of
 *		constraints, defaults, generated columns and indexes) runs in a guard.
 */
#ifndef BLOGSTORE_GUARD_H
#define BLOGSTORE_GUARD_H

#include "nodes/execnodes.h"
#include "utils/relcache.h"

/* From guard_enter() to guard_leave(). */
typedef struct Guard Guard;

/* What may run in a guard. */
typedef enum GuardKind
{
	GUARD_EXPRESSIONS,			/* a leaf's, which is written: types, defaults,
								 * constraints, indexes */
	GUARD_TRIGGERS,				/* a leaf's triggers, with its expressions */
	GUARD_STATEMENT				/* what a statement of blogstore's comes upon */
} GuardKind;

/* guard.c */
extern void guard_init(void);
extern Guard *guard_enter(GuardKind kind);
extern void guard_leave(Guard *guard);

/* attached.c: what is attached to a table? */
extern bool index_is_attached(Relation index);
extern AttrNumber index_leaves_out_nulls_of(Relation index);
extern bool columns_are_attached(Relation rel);
extern bool expressions_are_attached(Relation rel);

/* defer.c: nothing that is attached waits for the end of the transaction */
extern void defer_never(void);
extern void defer_nothing(ResultRelInfo *rri);

/* defaults.c: the owner's settings, for what runs at the worker's commits */
extern void defaults_apply(Oid owner);

#endif							/* BLOGSTORE_GUARD_H */
