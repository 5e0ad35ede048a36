/*
 * import_statements.c
 *		Bulk import: runs its statements (import_sql.c).
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include <ctype.h>

#include "base/compat.h"
#include "base/settings.h"
#include "import/sources/sources.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/params.h"
#include "parser/parse_param.h"
#include "utils/guc.h"

/*
 * Lock the tables that the import uses, and change settings for its
 * statements. import_phase_end() restores the settings. Errors and locks:
 * those of tables_lock_for_import().
 *
 * Sorts and hash tables get maintenance_work_mem. ANALYZE takes a small
 * sample, which is enough for a temporary table. Parallel plans are disabled,
 * because a DestReceiver may write to tables while a query runs.
 */
void
import_phase_settings(ImportPhase *phase)
{
	tables_lock_for_import();
	phase->nest = NewGUCNestLevel();
	settings_for_tables();
	setting_change("jit", "off");
	setting_change("default_statistics_target", "10");
	setting_change("max_parallel_workers_per_gather", "0");
	if (maintenance_work_mem > work_mem)
		setting_change("work_mem", psprintf("%dkB", maintenance_work_mem));
}

/*
 * Make the containers' owner the current user, with the settings of an import.
 * Errors and locks: those of import_phase_settings().
 */
void
import_phase_begin(ImportPhase *phase)
{
	owner_begin(&phase->scope);
	import_phase_settings(phase);
}

void
import_phase_end(ImportPhase *phase)
{
	AtEOXact_GUC(true, phase->nest);
	owner_end(&phase->scope);
}

/* the placeholders #name in the statements of import_sql.c */
static const char *const read_name[N_IMPORT_READS] = {
	[READ_USERS] = "#users",
	[READ_USERNAMES] = "#usernames",
	[READ_POSTS] = "#posts",
	[READ_DELETING] = "#deleting",
	[READ_FOLLOWS] = "#follows",
	[READ_FOLLOWERS] = "#followers"
};

/*
 * The table or query for each placeholder #name. On a cluster, a statement
 * reads the copy named in import->reads[] instead, if there is one.
 */
static const char *const read_table[N_IMPORT_READS] = {
	[READ_USERS] = USERS_SQL,
	[READ_USERNAMES] = USERNAMES_SQL,
	[READ_POSTS] = POSTS_SQL,
	[READ_DELETING] = "(" USERS_BEING_DELETED_SQL ") AS deleting",
	[READ_FOLLOWS] = "(SELECT user_id, followed_id, creation_date FROM " USERS_SQL
	" WHERE type = 'follow') AS follows",
	[READ_FOLLOWERS] = "(SELECT user_id, count(*) AS followed FROM " USERS_SQL
	" WHERE type = 'follow' GROUP BY user_id) AS followers"
};

/*
 * Append to "out" the table or query for the placeholder at the beginning of
 * "name". Returns the length of the placeholder.
 */
static size_t
append_read(const Import *import, StringInfo out, const char *name)
{
	for (int i = N_IMPORT_READS - 1; i >= 0; i--)
	{
		size_t		length = strlen(read_name[i]);

		if (strncmp(name, read_name[i], length) != 0 ||
			isalpha((unsigned char) name[length]))
			continue;
		appendStringInfoString(out, import->reads[i] ? import->reads[i] :
							   read_table[i]);
		return length;
	}
	elog(ERROR, "no table is called \"%s\"", name);
}

/*
 * Replace the placeholders in a statement: @name by a temporary table of the
 * import; #name by a table or query of read_table[], or by a copy.
 */
static char *
expand(const Import *import, const char *sql)
{
	StringInfoData out;

	initStringInfo(&out);
	while (*sql)
	{
		if (*sql == '#')
			sql += append_read(import, &out, sql);
		else if (*sql == '@')
		{
			appendStringInfo(&out, "pg_temp.%s", import->prefix);
			sql++;
		}
		else
			appendStringInfoChar(&out, *sql++);
	}
	return out.data;
}

static void
receiver_startup(DestReceiver *self, int operation, TupleDesc desc)
{
}

static void
receiver_destroy(DestReceiver *self)
{
}

/*
 * Set up a DestReceiver. receive() is called for each row, and shutdown()
 * after the last one.
 */
void
import_receiver_init(DestReceiver *receiver,
					 bool (*receive) (TupleTableSlot *slot,
									  DestReceiver *self),
					 void (*shutdown) (DestReceiver *self))
{
	receiver->receiveSlot = receive;
	receiver->rStartup = receiver_startup;
	receiver->rShutdown = shutdown;
	receiver->rDestroy = receiver_destroy;
	/* With DestNone or DestSPI, SPI would pass no rows to the receiver. */
	receiver->mydest = DestIntoRel;
}

/*
 * $1 is the current time, $2 is whether the import edits existing items, and
 * $3 is whether the source of posts has the column publish_date.
 */
static const Oid parameter_type[] = {TIMESTAMPTZOID, BOOLOID, BOOLOID};

static void
setup_parameters(ParseState *pstate, void *arg)
{
	setup_parse_fixed_parameters(pstate, parameter_type,
								 lengthof(parameter_type));
}

/*
 * Run a statement without placeholders. The result rows go to the receiver, or
 * to SPI_tuptable if the receiver is NULL. Returns the number of rows
 * processed.
 */
int64
import_run_into(const Import *import, const char *sql, DestReceiver *receiver)
{
	SPIExecuteOptions options = {.dest = receiver};
	ParamListInfo params = makeParamList(lengthof(parameter_type));
	int			rc;

	params->parserSetup = setup_parameters;
	params->params[0].value = TimestampTzGetDatum(import->now);
	params->params[1].value = BoolGetDatum(import->update);
	params->params[2].value = BoolGetDatum(import->schedules);
	for (int i = 0; i < lengthof(parameter_type); i++)
	{
		params->params[i].isnull = false;
		params->params[i].ptype = parameter_type[i];
		params->params[i].pflags = PARAM_FLAG_CONST;
	}
	options.params = params;
	rc = SPI_execute_extended(sql, &options);
	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", sql,
			 SPI_result_code_string(rc));
	return (int64) SPI_processed;
}

/*
 * Run a statement. The result rows are in SPI_tuptable. Returns the number of
 * rows processed.
 */
int64
import_run(const Import *import, const char *sql)
{
	return import_run_into(import, expand(import, sql), NULL);
}

/*
 * Run a query, and pass each row to a receiver at once. Returns the number of
 * rows.
 */
int64
import_run_query(const Import *import, const char *sql,
				 DestReceiver *receiver)
{
	return import_run_into(import, expand(import, sql), receiver);
}

/*
 * Run a statement that consists of "before", "name" and "after". Placeholders
 * in "name" are not replaced.
 *
 * name: a quoted name that the caller of import() has chosen; can contain @ or
 *	#
 */
void
import_run_named(const Import *import, const char *before, const char *name,
				 const char *after)
{
	char	   *text = psprintf("%s%s%s", expand(import, before), name,
								expand(import, after));

	(void) import_run_into(import, text, NULL);
}

/* Return a column of type bigint of the first row in SPI_tuptable. */
int64
import_result(int column)
{
	bool		isnull;

	return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
									   SPI_tuptable->tupdesc, column,
									   &isnull));
}

int64
import_run_number(const Import *import, const char *sql)
{
	int64		number;

	(void) import_run(import, sql);
	number = import_result(1);
	SPI_freetuptable(SPI_tuptable);
	return number;
}

/*
 * Throw an error (40001): another transaction has changed something after the
 * import's check.
 *
 * what: the change, for example "a user was renamed"; the message adds
 *	"meanwhile"
 */
void
import_outdated(const Import *import, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("%s meanwhile", what),
			 errhint("Call %s again.", import->command)));
}

typedef struct KeepReceiver
{
	DestReceiver pub;
	Tuplestorestate *rows;
	TupleDesc	desc;			/* NULL until a row was received */
	MemoryContext context;
} KeepReceiver;

static bool
keep_row(TupleTableSlot *slot, DestReceiver *self)
{
	KeepReceiver *keep = (KeepReceiver *) self;

	if (keep->desc == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(keep->context);

		keep->desc = CreateTupleDescCopy(slot->tts_tupleDescriptor);
		MemoryContextSwitchTo(old);
	}
	tuplestore_puttupleslot(keep->rows, slot);
	return true;
}

static void
keep_end(DestReceiver *self)
{
}

/*
 * Run a query, and store its rows in *rows, which the caller must end with
 * tuplestore_end(). Returns a slot for reading the rows, or NULL if the query
 * returns no rows.
 */
TupleTableSlot *
import_keep_rows(const Import *import, const char *sql, Tuplestorestate **rows)
{
	KeepReceiver keep = {.context = CurrentMemoryContext};

	import_receiver_init(&keep.pub, keep_row, keep_end);
	*rows = keep.rows = tuplestore_begin_heap(false, false, work_mem);
	(void) import_run_query(import, sql, &keep.pub);
	return keep.desc == NULL ? NULL :
		MakeSingleTupleTableSlot(keep.desc, &TTSOpsMinimalTuple);
}

/*
 * Run a query, and pass the rows to a receiver after the query has ended. So
 * the receiver may run statements itself. Returns the number of rows.
 */
int64
import_run_each(const Import *import, const char *sql, DestReceiver *receiver)
{
	Tuplestorestate *rows;
	TupleTableSlot *slot = import_keep_rows(import, sql, &rows);
	int64		n = 0;

	while (slot != NULL && tuplestore_gettupleslot(rows, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		(void) receiver->receiveSlot(slot, receiver);
		n++;
	}
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(rows);
	return n;
}
