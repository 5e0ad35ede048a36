/*
 * import_statements.c
 *		Bulk import: running its statements.
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
 * Sorts and hash tables are as large as those of other maintenance may be. What
 * the planner needs to know of a temporary table, a small sample tells.
 */
void
import_phase_settings(ImportPhase *phase)
{
	tables_lock_for_import();
	phase->nest = NewGUCNestLevel();
	setting_change("search_path", SAFE_SEARCH_PATH);
	setting_change("jit", "off");
	setting_change("default_table_access_method", "heap");
	setting_change("default_statistics_target", "10");
	if (maintenance_work_mem > work_mem)
		setting_change("work_mem", psprintf("%dkB", maintenance_work_mem));
	/* on one connection to each node, where all see what the others have written */
	if (layout_is_spread())
		setting_change("citus.multi_shard_modify_mode", "sequential");
}

/* Act as the containers' owner, with the settings of an import, until its end. */
void
import_phase_begin(ImportPhase *phase)
{
	owner_begin(&phase->scope);
	import_phase_settings(phase);
}

/* End what import_phase_begin() began: the caller's settings and rights again. */
void
import_phase_end(ImportPhase *phase)
{
	AtEOXact_GUC(true, phase->nest);
	owner_end(&phase->scope);
}

/* What stands for a table of the containers' in statements that read it. */
static const char *const read_name[N_IMPORT_READS] = {
	[READ_USERS] = "#users",
	[READ_USERNAMES] = "#usernames",
	[READ_POSTS] = "#posts",
	[READ_DELETING] = "#deleting"
};

/* The tables that an import reads, where it is told of no others. */
static const char *const read_table[N_IMPORT_READS] = {
	[READ_USERS] = USERS_SQL,
	[READ_USERNAMES] = USERNAMES_SQL,
	[READ_POSTS] = POSTS_SQL,
	[READ_DELETING] = "(" USERS_BEING_DELETED_SQL ") AS deleting"
};

/* Add the table that a name stands for; returns how long the name is. */
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
 * A statement with the names of this import's temporary tables, and of those that it reads.
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

/* Have functions called for each row of a query, and after the last. */
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
	receiver->mydest = DestIntoRel; /* any that SPI does not look into */
}

/* $1 is the present, $2 whether items become as the source's. */
static const Oid parameter_type[] = {TIMESTAMPTZOID, BOOLOID};

static void
setup_parameters(ParseState *pstate, void *arg)
{
	setup_parse_fixed_parameters(pstate, parameter_type,
								 lengthof(parameter_type));
}

/*
 * Run a statement as it is, its rows for a receiver, or for SPI if there is none;
 * returns how many it has processed.
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

/* Run a statement with the names of temporary tables, for SPI. */
int64
import_run(const Import *import, const char *sql)
{
	return import_run_into(import, expand(import, sql), NULL);
}

/* Run a query with the names of temporary tables, its rows for a receiver. */
int64
import_run_query(const Import *import, const char *sql,
				 DestReceiver *receiver)
{
	return import_run_into(import, expand(import, sql), receiver);
}

/* Run a statement with a (quoted) name in it that is the caller's. */
void
import_run_named(const Import *import, const char *before, const char *name,
				 const char *after)
{
	char	   *text = psprintf("%s%s%s", expand(import, before), name,
								expand(import, after));

	(void) import_run_into(import, text, NULL);
}

/* A number in the first row of the last statement's result. */
int64
import_result(int column)
{
	bool		isnull;

	return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
									   SPI_tuptable->tupdesc, column,
									   &isnull));
}

/* Run a query for one number. */
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
 * Is an error that a primary key is taken? On a cluster another node's tells the key in its
 * message alone, and that is a shard's, with a number behind its name.
 */
static bool
key_is_taken(const Import *import, const ErrorData *error)
{
	const char *name = error->constraint_name;
	const char *end = "_pkey";
	size_t		length = name ? strlen(name) : 0;

	if (error->sqlerrcode != ERRCODE_UNIQUE_VIOLATION)
		return false;
	if (import->spread)
		return error->message != NULL && strstr(error->message, end) != NULL;
	return length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

/* Errors: 40001, always. */
void
import_outdated(const Import *import, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("%s meanwhile", what),
			 errhint("Call %s again.", import->command)));
}

/*
 * Call what is to write so many rows. A primary key that is taken was free when
 * it was checked. Errors: 09000, 40001.
 */
void
import_write_rows(const Import *import, ImportWrite write, void *arg,
				  int64 rows)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int64 written = 0;

	PG_TRY();
	{
		written = write(import, arg);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (!key_is_taken(import, error))
			PG_RE_THROW();
		FlushErrorState();
		import_outdated(import, "an item was created");
	}
	PG_END_TRY();
	if (written != rows)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
				 errmsg("a trigger suppressed a change of an item"),
				 errhint("Raise an error in the trigger to refuse a change.")));
}

static int64
write_by_statement(const Import *import, void *arg)
{
	return import_run(import, arg);
}

/* Run a statement that is to write so many rows. Errors: 09000, 40001. */
void
import_run_write(const Import *import, const char *sql, int64 rows)
{
	import_write_rows(import, write_by_statement, unconstify(char *, sql),
					  rows);
}
