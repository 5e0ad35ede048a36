/*
 * databases.c
 *		Lists the databases of the server.
 *
 * Runs in the launcher.
 */
#include "postgres.h"

#include "base/compat.h"
#include "views/launcher/worker_entries.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "utils/snapmgr.h"

List *
list_databases(void)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *result = NIL;
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);
		MemoryContext old = MemoryContextSwitchTo(context);
		Database   *database = palloc(sizeof(Database));

		database->oid = form->oid;
		database->name = form->datname;
		database->accepts = form->datallowconn &&
			!compat_database_is_invalid(form);
		database->is_template = form->datistemplate;
		result = lappend(result, database);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return result;
}

const Database *
find_database(List *databases, Oid oid)
{
	ListCell   *lc;

	foreach(lc, databases)
	{
		const Database *database = lfirst(lc);

		if (database->oid == oid)
			return database;
	}
	return NULL;
}
