/*
 * error_fields.h
 *		Sets the fields of errors (schema, table, column, constraint), by which
 *		client programs recognize an error.
 *
 * Drivers return these fields beside the SQLSTATE (psycopg2's diag,
 * node-postgres' error, GET STACKED DIAGNOSTICS). Every error of blogstore
 * that a program can act on is raised with err_fields(). The field
 * "constraint" contains the name of the violated rule, one of the RULE_
 * constants below. The names are documented for users, and do not change once
 * released.
 */
#ifndef BLOGSTORE_ERROR_FIELDS_H
#define BLOGSTORE_ERROR_FIELDS_H

/*
 * The names of the rules. The comment at each name says what the rule
 * requires.
 */

/* Rules for the arguments of functions. */
#define RULE_NOT_NULL "not_null"	/* an argument must not be null */
#define RULE_NOT_EMPTY "not_empty"	/* a text must not be empty */
#define RULE_MAX_LENGTH "max_length"	/* a text must not be too long */
#define RULE_CHARACTERS "characters"	/* only allowed characters */
#define RULE_FINITE "finite"	/* a date must be finite */
#define RULE_RANGE "range"		/* a value must be one of those allowed */
#define RULE_TOGETHER "together"	/* two arguments must be passed together */
#define RULE_ORDER "order"		/* the position must fit the requested order */
#define RULE_OBJECT "object"	/* a document must be a JSON object */
#define RULE_KEYS "keys"		/* a JSON object must not have reserved keys */
#define RULE_NO_CIRCLE "no_circle"	/* a comment must not reply to itself */

/* Rules for users, posts, comments and likes. */
#define RULE_USER_EXISTS "user_exists"
#define RULE_POST_EXISTS "post_exists"
#define RULE_COMMENT_EXISTS "comment_exists"
#define RULE_USERNAME_UNIQUE "username_unique"
#define RULE_USER_ID_UNIQUE "user_id_unique"
#define RULE_POST_ID_UNIQUE "post_id_unique"
#define RULE_COMMENT_ID_UNIQUE "comment_id_unique"
#define RULE_POST_SHOWN "post_shown"	/* the post must not be hidden */
#define RULE_COMMENT_SHOWN "comment_shown"	/* comment must not be hidden */
#define RULE_ITEMS_TAKEN "items_taken"	/* no item of an import is rejected */

/* Rules for the session and its transaction. */
#define RULE_SIGNED_IN "signed_in"	/* a user must be signed in */
#define RULE_OWN_ITEM "own_item"	/* a user may change only own items */
#define RULE_READ_WRITE "read_write"	/* a transaction must not be READ ONLY */
#define RULE_PRIMARY "primary"	/* the server must not be a standby */
#define RULE_READ_COMMITTED "read_committed"	/* isolation level */
#define RULE_COMMITTED "committed"	/* the transaction must not have written */
#define RULE_LEADER "leader"	/* not in a parallel worker */
#define RULE_ONE_PHASE "one_phase"	/* no PREPARE TRANSACTION */

/* Rules for the server and the tables of blogstore. */
#define RULE_PRELOADED "preloaded"	/* blogstore must be preloaded */
#define RULE_CREATED "created"	/* create_containers() must have been called */
#define RULE_UNALTERED "unaltered"	/* tables must be as blogstore made them */
#define RULE_COMPLETE "complete"	/* a stored row must lack no value */
#define RULE_INDEXED "indexed"	/* a list needs an optional index */
#define RULE_TRIGGERS "triggers"	/* triggers must not suppress changes */
#define RULE_WORKER "worker"	/* the worker must be able to run */
#define RULE_CLUSTER "cluster"	/* the cluster's nodes must be set up alike */

/* The schema that contains blogstore's functions and tables. */
#define BLOGSTORE_SCHEMA "blogstore"

struct RelationData;

extern int	err_fields(const char *table, const char *column, const char *rule);
extern int	err_table_fields(struct RelationData *table, const char *column,
							 const char *rule);

#endif							/* BLOGSTORE_ERROR_FIELDS_H */
