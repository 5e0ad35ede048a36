/*
 * inside.h
 *		The guard from within, for the files of guard/ alone.
 */
#ifndef BLOGSTORE_GUARD_INSIDE_H
#define BLOGSTORE_GUARD_INSIDE_H

#include "guard/guard.h"

#include "utils/elog.h"

struct Guard
{
	Guard	   *outer;			/* NULL: none */
	int			level;			/* of the transaction that entered it */
	Oid			user;			/* as it was outside: the owner */
	char	   *path;			/* the search_path, and all settings, as they */
	char	  **settings;		/* were outside; NULL: not changed, or worker */
	int			sec_context;
	bool		settled;		/* are all settings the owner's? */
	bool		restricted;		/* was it so outside of all guards? */
	int			guc_nest;
	ErrorContextCallback errors;
};

/* entered.c; guard.c alone changes it */
extern Guard *guard_innermost;	/* NULL: this is no guard */

extern Oid	guard_owner(void);
extern bool role_is_callers(Oid role);
extern void guard_check_relation(Oid relid);

/* attached_types.c: types that would bring somebody else's code */
extern void types_init(void);
extern void types_check_temporary(Oid owner);
extern void types_watch_functions(void);
extern void types_unwatch_functions(void);

/* cursors.c: cursors that were there before the guard */
extern void cursors_init(void);
extern void cursors_begin(void);
extern void cursors_check(const char *name);
extern void cursors_check_active(void);

/* left_behind.c: what must not stay in the session */
extern void left_behind_check(Node *stmt);
extern char **left_behind_note(const char *path);
extern void left_behind_undo(char **value);

/* defer.c */
extern void defer_init(void);
extern void defer_forget(void);
extern bool defer_is_never(void);
extern void defer_check(Relation rel);

/* defaults.c: the owner's settings */
extern void defaults_init(void);
extern void defaults_apply_path(Oid owner);
extern const char *defaults_left_out(void);
extern int	defaults_count(void);
extern const char *defaults_name(int setting);

/* safe_path.c: the owner's search_path, without what others can write to */
extern bool role_is_trusted(Oid role, Oid owner);
extern char *safe_path(Oid owner, const char *wanted, char **left_out);

#endif							/* BLOGSTORE_GUARD_INSIDE_H */
