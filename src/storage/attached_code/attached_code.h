/*
 * attached_code.h
 *		Finding code that the owner has attached to blogstore's tables, and
 *		keeping this code from harming other roles.
 */
#ifndef BLOGSTORE_ATTACHED_CODE_H
#define BLOGSTORE_ATTACHED_CODE_H

#include "nodes/nodes.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

/*
 * The state of the process that guard_enter() saves and guard_leave()
 * restores. Attached code runs between these calls.
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
extern AttrNumber index_null_test_of(Relation index, bool nulls);

extern void attached_init(void);
extern uint64 attached_stamp(void);
extern char *attached_deferrable(Relation rel);
extern List *attached_unpinned(Relation rel);
extern char *function_name(Oid function);
extern char *function_pin_statement(Oid function);

#endif							/* BLOGSTORE_ATTACHED_CODE_H */
