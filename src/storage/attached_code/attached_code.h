/*
 * attached_code.h
 *		Finding attached code, which is what the owner has added to blogstore's
 *		tables, and protecting other roles from it.
 */
#ifndef BLOGSTORE_ATTACHED_CODE_H
#define BLOGSTORE_ATTACHED_CODE_H

#include "nodes/nodes.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

/*
 * The state that guard_enter() saves and guard_leave() restores. Between these
 * calls, triggers and other code of the tables' owner cannot harm the role in
 * whose session they run.
 */
typedef struct Guard Guard;

/* guard.c */
extern void guard_init(void);
extern Guard *guard_enter(void);
extern void guard_leave(Guard *guard);
extern void guard_check_statement(Node *stmt);

/* attached_functions.c */
extern bool code_is_attached(Relation rel);
extern bool index_is_attached(Relation index);
extern AttrNumber index_leaves_out_nulls_of(Relation index);

extern void attached_init(void);
extern uint64 attached_stamp(void);
extern char *attached_deferrable(Relation rel);
extern List *attached_unpinned(Relation rel);
extern char *function_name(Oid function);
extern char *function_pin_statement(Oid function);

#endif							/* BLOGSTORE_ATTACHED_CODE_H */
