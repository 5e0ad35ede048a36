/*
 * error_fields.h
 *		Sets the fields of errors (schema, table, column, constraint), by which
 *		client programs recognize an error.
 *
 * Drivers return these fields beside the SQLSTATE, for example psycopg2 in
 * diag. Every error of blogstore that a program can act on is raised with
 * err_fields(). The field "constraint" contains the name of the violated rule,
 * one of the RULE_ constants below. These names are documented for users, and
 * do not change after a release.
 */
#ifndef BLOGSTORE_ERROR_FIELDS_H
#define BLOGSTORE_ERROR_FIELDS_H

/* Rules for the arguments of functions. */
#define RULE_NOT_NULL "not_null"
#define RULE_NOT_EMPTY "not_empty"
#define RULE_MAX_LENGTH "max_length"
/* a text must consist of allowed characters */
#define RULE_CHARACTERS "characters"
#define RULE_FINITE "finite"
#define RULE_RANGE "range"		/* a value must be one of the allowed values */
#define RULE_TOGETHER "together"	/* two arguments must be passed together */
/* an argument, such as before_date, must fit the order of the list */
#define RULE_ORDER "order"
#define RULE_OBJECT "object"	/* a document must be a JSON object */
/* a JSON object must not have a key that blogstore uses for a column */
#define RULE_KEYS "keys"
/* replies to comments must not form a circle */
#define RULE_NO_CIRCLE "no_circle"
/* a comment must not have the id of its post */
#define RULE_NOT_POST_ID "not_post_id"

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
/* without its argument "rejects", import() must be able to import all items */
#define RULE_ITEMS_TAKEN "items_taken"

#define RULE_NOT_ONESELF "not_oneself"	/* no user can follow herself */
/* how many users a user may follow */
#define RULE_MAX_FOLLOWED "max_followed"

/* Rules for the session and its transaction. */
#define RULE_SIGNED_IN "signed_in"
/* a user may change only the user's own items */
#define RULE_OWN_ITEM "own_item"
#define RULE_READ_WRITE "read_write"
#define RULE_PRIMARY "primary"	/* the server must not be a standby */
/* the isolation level must be READ COMMITTED */
#define RULE_READ_COMMITTED "read_committed"
/* the transaction must not have written before the call */
#define RULE_COMMITTED "committed"
/* the function must not run in a parallel worker */
#define RULE_LEADER "leader"
/* the transaction must not end with PREPARE TRANSACTION */
#define RULE_ONE_PHASE "one_phase"

/* Rules for the server and the tables of blogstore. */
#define RULE_PRELOADED "preloaded"
#define RULE_CREATED "created"	/* create_containers() must have been called */
/* the owner must not have altered blogstore's columns and indexes */
#define RULE_UNALTERED "unaltered"
/* a stored item must have all required values */
#define RULE_COMPLETE "complete"
#define RULE_INDEXED "indexed"	/* the index that a list needs must exist */
/* no trigger of the owner's may suppress a change that blogstore makes */
#define RULE_TRIGGERS "triggers"
/* a worker must be able to run for this database */
#define RULE_WORKER "worker"
#define RULE_TOPICS "topics"	/* topics must be kept, and be ready */
/* the nodes of a cluster must have the right settings and tables */
#define RULE_CLUSTER "cluster"

/* The schema that contains blogstore's functions and tables. */
#define BLOGSTORE_SCHEMA "blogstore"

struct RelationData;

extern int	err_fields(const char *table, const char *column, const char *rule);
extern int	err_table_fields(struct RelationData *table, const char *column,
							 const char *rule);

#endif							/* BLOGSTORE_ERROR_FIELDS_H */
