/*
 * node_statement.c
 *		Having another node of the cluster run a statement at once, in a transaction of its
 *		own.
 *
 * The connection is one of Citus's, which keeps it for the next time. What the statement does is
 * committed there when this returns, whatever becomes of the transaction here, so it has to be
 * something that may be done twice, or in vain.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "cluster/citus/citus.h"

/* Of Citus's flags for connections: none that its own transactions use. */
#define CITUS_OUTSIDE_TRANSACTION (1 << 4)

/* What Citus has to have for it (connection_management.c, remote_commands.c). */
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

/* Errors: 55000 unless Citus has all functions that are called here. */
void
cluster_require_functions(void)
{
	find_functions();
	(void) cluster_function(CITUS_PREPARE_FIRST);
}

/*
 * Have a node run a statement as a user, in this database; false: it could not be reached, or
 * the statement has failed there, which the log tells. In a transaction. Errors: 55000.
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
