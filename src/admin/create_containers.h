/*
 * create_containers.h
 *		Creating the tables of blogstore. Only src/admin and src/cluster
 *		include this header.
 */
#ifndef BLOGSTORE_CREATE_CONTAINERS_H
#define BLOGSTORE_CREATE_CONTAINERS_H

#include "base/compat.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"

#include "fmgr.h"

typedef struct Statements
{
	int			n;
	const char *const *sql;
} Statements;

/*
 * Which tables a call of create_containers() has to create, and for which
 * owner. An element of "container" or "table" is true if that container or
 * bookkeeping table is missing.
 */
typedef struct Creation
{
	Oid			owner;
	int			partitions;
	bool		container[N_CONTAINERS];
	bool		table[N_BOOKKEEPING];
	bool		counts_view;	/* whether the view posts_with_counts is
								 * missing */
	int			missing;		/* number of missing containers, bookkeeping
								 * tables and views */
} Creation;

/*
 * in create_sql.c: statements that create a container, one partition of it,
 * and a bookkeeping table
 */
extern const Statements create_container_sql[N_CONTAINERS];
extern const Statements create_partition_sql[N_CONTAINERS];
extern const Statements create_bookkeeping_sql[N_BOOKKEEPING];

/*
 * The column definitions of a container.
 *
 * post: "NOT NULL" if post_id must not be null, else ""
 * user: "NOT NULL" if user_id and creation_date must not be null, else ""
 * names: definitions of the columns that contain usernames
 * added: definitions of the columns that no other container has
 */
#define PROPERTY_COLUMNS(post, user, names, added) \
	"id uuid NOT NULL, type text NOT NULL, post_id uuid " post ", " \
	"user_id uuid " user ", " names "title text, content text, " \
	"comment_count bigint, like_count bigint, " \
	"creation_date timestamptz " user ", " \
	added "modification_date timestamptz, properties jsonb"

/* NOT NULL constraints for a leaf whose items have an author. */
#define AUTHORED \
	"user_id NOT NULL, user_username NOT NULL, creation_date NOT NULL, "

#define COUNTED "comment_count NOT NULL, like_count NOT NULL, "

#define AUTHORED_POST \
	"post_id NOT NULL, " AUTHORED "title NOT NULL, content NOT NULL, " COUNTED

/*
 * COUNTS_VIEW: the name of the SQL view posts_with_counts
 * COUNTS_VIEW_SQL: the name with the schema
 * CREATE_COUNTS_VIEW: the beginning of the statement that creates the view,
 * without CREATE or CREATE OR REPLACE, which the callers add
 */
#define COUNTS_VIEW "posts_with_counts"
#define COUNTS_VIEW_SQL BLOGSTORE_SCHEMA "." COUNTS_VIEW
#define CREATE_COUNTS_VIEW \
	"VIEW " COUNTS_VIEW_SQL " WITH (security_invoker = true) AS"

/* create_counts_view.c */
extern const char create_counts_view_sql[];
extern void create_look_at_counts_view(Creation *creation);
extern void create_counts_view(const Creation *creation, const char *sql);
extern void create_give_counts_view(const Creation *creation);

/* create_containers.c */
extern COMPAT_NORETURN void create_refuse_existing(void);
extern void create_look_at_container(Creation *creation, Container container);
extern void create_look_at_table(Creation *creation, Bookkeeping table);
extern void create_look_at_all(Creation *creation);

extern int	create_begin(void);
extern void create_container(const Creation *creation, Container container);
extern void create_join_parts(const Creation *creation);
extern void create_end(const Creation *creation, int nest);

#define MAX_PARTITIONS 1024

/* create_run.c */
extern COMPAT_NORETURN void create_refuse_table(const char *name,
												const char *problem);
extern int	create_get_partitions(FunctionCallInfo fcinfo);
extern uint64 create_run_sql(const char *sql);
extern void create_give_away(const Creation *creation, Oid relid);
extern void create_table_of_bookkeeping(const Creation *creation,
										Bookkeeping table);

#endif							/* BLOGSTORE_CREATE_CONTAINERS_H */
