/*
 * error_fields.h
 *		Fields of error messages (schema, table, column, constraint), by which
 *		programs recognize an error.
 *
 * Drivers return these fields beside the SQLSTATE (psycopg2's diag,
 * node-postgres' error, GET STACKED DIAGNOSTICS). Every error of blogstore
 * that a program can act on is raised with err_fields(). The rule that was
 * violated is returned as the constraint's name. The names of rules are
 * documented, and do not change once released.
 */
#ifndef BLOGSTORE_ERROR_FIELDS_H
#define BLOGSTORE_ERROR_FIELDS_H

/* Names of rules, with what each requires. */

/* of arguments */
#define RULE_NOT_NULL "not_null"	/* is not null */
#define RULE_NOT_EMPTY "not_empty"	/* is not empty */
#define RULE_MAX_LENGTH "max_length"	/* is not too long */
#define RULE_CHARACTERS "characters"	/* has only allowed characters */
#define RULE_FINITE "finite"	/* is a finite date */
#define RULE_RANGE "range"		/* is within bounds, or an allowed value */
#define RULE_TOGETHER "together"	/* is passed with another argument */
#define RULE_ORDER "order"		/* belongs to the requested order */
#define RULE_OBJECT "object"	/* is a JSON object */
#define RULE_KEYS "keys"		/* has no reserved key */
#define RULE_NO_CIRCLE "no_circle"	/* a comment does not reply to itself */

/* of items */
#define RULE_USER_EXISTS "user_exists"
#define RULE_POST_EXISTS "post_exists"
#define RULE_COMMENT_EXISTS "comment_exists"
#define RULE_USERNAME_UNIQUE "username_unique"
#define RULE_USER_ID_UNIQUE "user_id_unique"
#define RULE_POST_ID_UNIQUE "post_id_unique"
#define RULE_COMMENT_ID_UNIQUE "comment_id_unique"
#define RULE_POST_SHOWN "post_shown"	/* the post is not hidden */
#define RULE_COMMENT_SHOWN "comment_shown"	/* the comment is not hidden */
#define RULE_ITEMS_TAKEN "items_taken"	/* an import rejects no item */

/* of the caller and the transaction */
#define RULE_SIGNED_IN "signed_in"	/* a user is signed in */
#define RULE_OWN_ITEM "own_item"	/* the item is the user's own */
#define RULE_READ_WRITE "read_write"	/* the transaction may write */
#define RULE_PRIMARY "primary"	/* server is not a standby */
#define RULE_READ_COMMITTED "read_committed"	/* isolation is READ COMMITTED */
#define RULE_COMMITTED "committed"	/* transaction has not written yet */
#define RULE_LEADER "leader"	/* process is not a parallel worker */
#define RULE_ONE_PHASE "one_phase"	/* the transaction is not prepared */

/* of the server and the containers */
#define RULE_PRELOADED "preloaded"	/* the library is preloaded */
#define RULE_CREATED "created"	/* the containers have been created */
#define RULE_UNALTERED "unaltered"	/* table or type is as it was made */
#define RULE_COMPLETE "complete"	/* a stored item has all required values */
#define RULE_INDEXED "indexed"	/* a list has the index that it needs */
#define RULE_TRIGGERS "triggers"	/* attached code does only what it may */
#define RULE_WORKER "worker"	/* a worker can run, and is not stopped */
#define RULE_CLUSTER "cluster"	/* all nodes are as they must be */

/* The schema of blogstore's objects. */
#define BLOGSTORE_SCHEMA "blogstore"

struct RelationData;

extern int	err_fields(const char *table, const char *column, const char *rule);
extern int	err_table_fields(struct RelationData *table, const char *column,
							 const char *rule);

#endif							/* BLOGSTORE_ERROR_FIELDS_H */
