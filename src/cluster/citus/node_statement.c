/*
 * node_statement.c
 *		Running a statement on another node, in a transaction of its own.
 *
 * Citus provides the connection and caches it. When cluster_send() returns,
 * the statement is committed on the other node, even if the local transaction
 * rolls back later. So the statement must do no harm if it is repeated, or if
 * the local transaction fails.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "cluster/citus/citus.h"

/*
 * Citus's flag OUTSIDE_TRANSACTION. It asks for a connection that Citus does
 * not use for its own transactions.
 */
#define CITUS_OUTSIDE_TRANSACTION (1 << 4)

/*
 * Two C functions of Citus (connection_management.c, remote_commands.c),
 * looked up by find_functions().
 */
static void *(*connect_to) (uint32 flags, const char *host, int32 port,
							const char *user, const char *database) = NULL;
static int	(*execute_on) (void *connection, const char *sql, void **result) = NULL;

static void
find_functions(void)
{
	if (execute_on != NULL)
		return;
	connect_to = (void *(*) (uint32, const char *, int32, const char *, const char *))
		cluster_function("GetNodeUserDatabaseConnection");
	execute_on = (int (*) (void *, const char *, void **))
		cluster_function("ExecuteOptionalRemoteCommand");
}

/*
 * Throw an error unless Citus has all C functions that cluster_send() and
 * cluster_writes_here() call. Errors: 55000.
 */
void
cluster_require_functions(void)
{
	find_functions();
	(void) cluster_function(CITUS_PREPARE_FIRST);
}

/*
 * Run a statement on a node, in the database with the same name as the current
 * one. Returns false if the node could not be reached or the statement failed.
 * Citus then logs the error. The caller must be in a transaction. Errors:
 * 55000 if Citus lacks a C function.
 *
 * user: the role that runs the statement
 */
bool
cluster_send(const ClusterNode *node, const char *user, const char *sql)
{
	void	   *connection;

	find_functions();
	connection = connect_to(CITUS_OUTSIDE_TRANSACTION, node->host, node->port,
							user, NULL);
	return connection != NULL && execute_on(connection, sql, NULL) == 0;
}
