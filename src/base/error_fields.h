/*
 * error_fields.h
 *		The fields of an error: schema, table, column and constraint.
 *
 * A driver shows the fields of an error beside its SQLSTATE (psycopg2's diag,
 * node-postgres' error, GET STACKED DIAGNOSTICS). Every error of blogstore's
 * that a program can act on is raised with err_fields(). The names of the
 * rules are documented, and released ones do not change.
 */
#ifndef BLOGSTORE_ERROR_FIELDS_H
#define BLOGSTORE_ERROR_FIELDS_H

/* The rules, which are the names of constraints in errors. */

/* of arguments */
#define RULE_NOT_NULL "not_null"	/* it has a value */
#define RULE_NOT_EMPTY "not_empty"	/* it has a character */
#define RULE_MAX_LENGTH "max_length"	/* it is not too long */
#define RULE_CHARACTERS "characters"	/* it has allowed characters alone */
#define RULE_FINITE "finite"	/* it is a point in time */
#define RULE_RANGE "range"		/* it is within bounds, or one of some values */
#define RULE_TOGETHER "together"	/* it is given with another */
#define RULE_ORDER "order"		/* it belongs to the order that is asked for */
#define RULE_OBJECT "object"	/* it is a JSON object */
#define RULE_KEYS "keys"		/* it has no key that is taken */
#define RULE_NO_CIRCLE "no_circle"	/* the comment does not reply to itself */

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
#define RULE_ITEMS_TAKEN "items_taken"	/* an import takes all items */

/* of the caller and the transaction */
#define RULE_SIGNED_IN "signed_in"	/* a user is signed in */
#define RULE_OWN_ITEM "own_item"	/* the item is the user's own */
#define RULE_READ_WRITE "read_write"	/* the transaction may write */
#define RULE_PRIMARY "primary"	/* the server is no standby */
#define RULE_READ_COMMITTED "read_committed"	/* it is of this isolation */
#define RULE_COMMITTED "committed"	/* the transaction has not written before */
#define RULE_LEADER "leader"	/* the process is no parallel worker */
#define RULE_ONE_PHASE "one_phase"	/* the transaction is not prepared */

/* of the server and the containers */
#define RULE_PRELOADED "preloaded"	/* the library is preloaded */
#define RULE_CREATED "created"	/* the containers have been created */
#define RULE_UNALTERED "unaltered"	/* a table or type is as it may be */
#define RULE_COMPLETE "complete"	/* a stored item has its values */
#define RULE_INDEXED "indexed"	/* an index that a list needs is there */
#define RULE_TRIGGERS "triggers"	/* attached code does what it may do */
#define RULE_WORKER "worker"	/* a worker can run, and is not stopped */
#define RULE_CLUSTER "cluster"	/* the nodes of the cluster are as they must be */

/* The schema of all that blogstore makes. */
#define BLOGSTORE_SCHEMA "blogstore"

struct RelationData;

extern int	err_fields(const char *table, const char *column, const char *rule);
extern int	err_table_fields(struct RelationData *table, const char *column,
							 const char *rule);

#endif							/* BLOGSTORE_ERROR_FIELDS_H */
