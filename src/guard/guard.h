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
	GUARD_EXPRESSIONS,			/* of a leaf that is written */
	GUARD_TRIGGERS,				/* these, too */
	GUARD_STATEMENT				/* what a statement of blogstore's comes upon */
} GuardKind;

/* attached.c */
extern void attached_init(void);
extern bool index_is_attached(Relation index);
extern bool columns_are_attached(Relation rel);
extern bool expressions_are_attached(Relation rel);
extern Guard *guard_enter(GuardKind kind);
extern void guard_leave(Guard *guard);
extern bool guard_is_entered(void);
extern Oid	guard_owner(void);
extern bool role_is_callers(Oid role);

/* attached_types.c */
extern void types_init(void);
extern void types_check_temporary(Oid owner);
extern void types_watch_functions(void);
extern void types_unwatch_functions(void);

/* left_behind.c */
extern void left_behind_check(Node *stmt);
extern char **left_behind_note(const char *path);
extern void left_behind_undo(char **value);

/* defer.c */
extern void defer_init(void);
extern void defer_forget(void);
extern void defer_never(void);
extern bool defer_is_never(void);
extern void defer_nothing(ResultRelInfo *rri);
extern void defer_check(Relation rel);

/* defaults.c */
extern void defaults_init(void);
extern void defaults_apply_path(Oid owner);
extern void defaults_apply(Oid owner);
extern const char *defaults_left_out(void);
extern int	defaults_count(void);
extern const char *defaults_name(int setting);

/* safe_path.c */
extern bool role_is_trusted(Oid role, Oid owner);
extern char *safe_path(Oid owner, const char *wanted, char **left_out);

#endif							/* BLOGSTORE_GUARD_H */
