/*
 * defaults.c
 *		The settings under which what the containers' owner has attached runs: those
 *		that a session of the owner's would begin with in this database, nothing of
 *		the caller's.
 *
 * They come from the configuration files and from ALTER DATABASE and ALTER ROLE
 * ... SET, in the order of process_settings(). The search_path is made safe
 * (safe_path.c).
 *
 * Runs in any process, in a transaction.
 */
#include "postgres.h"

#include "compat.h"
#include "guard/inside.h"
#include "invalidate.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_db_role_setting.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc_tables.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

/* How many levels can have a say, from what is compiled in to a role's. */
#define MAX_LEVELS 6

/* A setting that changes what an expression, a literal or a row means. */
typedef struct GuardedSetting
{
	const char *name;
	bool		whole;			/* does a value say all? DateStyle's need not */
	const char *boot;			/* of a library's, what it is if nobody sets it */
	char	   *fixed;			/* as on the postmaster's command line, or NULL */
	struct config_generic *conf;	/* NULL: there is none yet */
	int			nvalues;
	const char *value[MAX_LEVELS];	/* to be set in this order */
	bool		settled;		/* what comes of it is known: */
	char	   *text;
	int			number;
} GuardedSetting;

#define SEARCH_PATH 0

static GuardedSetting settings[] = {
	{"search_path", true},
	{"DateStyle", false},
	{"IntervalStyle", true},
	{"TimeZone", true},
	{"timezone_abbreviations", true},
	{"lc_messages", true},
	{"lc_monetary", true},
	{"lc_numeric", true},
	{"lc_time", true},
	{"standard_conforming_strings", true},
	{"backslash_quote", true},
	{"transform_null_equals", true},
	{"array_nulls", true},
	{"xmloption", true},
	{"xmlbinary", true},
	{"bytea_output", true},
	{"extra_float_digits", true},
	{"quote_all_identifiers", true},
	{"default_text_search_config", true},
	{"gin_fuzzy_search_limit", true},
	{"row_security", true},
	{"check_function_bodies", true},
	{"default_table_access_method", true},
	{"default_tablespace", true},
	{"plpgsql.check_asserts", true, "on"},
	{"plpgsql.extra_errors", true, "none"},
	{"plpgsql.print_strict_params", true, "off"}
};

/* Whose settings are known, and as of which reload of the files. */
static bool known = false;
static Oid	known_owner = InvalidOid;
static TimestampTz known_load = 0;
static bool path_known = false;
static uint64 path_changes = 0; /* how many invalidations came */

/* Holds the values of the owner's settings. */
static MemoryContext context = NULL;	/* "blogstore defaults" */
static char *left_out = NULL;	/* schemas, quoted; NULL: none */

static void
path_invalidate(void)
{
	path_known = false;
	path_changes++;
}

/* ------------------------------------------------------------------------
 * Reading them
 * ------------------------------------------------------------------------ */

/* What a setting is if nobody has set it. */
static const char *
boot_value(const GuardedSetting *setting)
{
	return setting->boot != NULL ? setting->boot :
		compat_guc_boot_value(setting->conf);
}

static void
add_value(GuardedSetting *setting, const char *value)
{
	if (value == NULL)
		return;
	if (setting->whole)
		setting->nvalues = 0;
	Assert(setting->nvalues < MAX_LEVELS);
	setting->value[setting->nvalues++] = MemoryContextStrdup(context, value);
}

/* What the configuration files say now. */
static ConfigVariable *
read_files(void)
{
	ConfigVariable *head = NULL;
	ConfigVariable *tail = NULL;

	if (ConfigFileName == NULL ||
		!ParseConfigFile(ConfigFileName, false, NULL, 0, 0, DEBUG1, &head, &tail))
		return NULL;
	(void) ParseConfigFile(PG_AUTOCONF_FILENAME, false, NULL, 0, 0, DEBUG1,
						   &head, &tail);
	return head;
}

/*
 * What the server itself would have a setting be. Where this session's own
 * default is not the caller's doing, it is that; else the files are read.
 */
static void
add_server_value(GuardedSetting *setting, ConfigVariable **files, bool *read)
{
	struct config_generic *conf = setting->conf;
	const char *value = NULL;

	if (!setting->whole)
		add_value(setting, boot_value(setting));
	if (conf->reset_source <= PGC_S_ARGV)
		value = GetConfigOptionResetString(setting->name);
	else if (setting->fixed != NULL)
		value = setting->fixed;
	else
	{
		if (!*read)
			*files = read_files();
		*read = true;
		for (ConfigVariable *v = *files; v != NULL; v = v->next)
			if (!v->ignore && pg_strcasecmp(v->name, setting->name) == 0)
				value = v->value;
		if (value == NULL)
			value = boot_value(setting);
	}
	add_value(setting, value);
}

/* What ALTER DATABASE or ALTER ROLE has set (ApplySetting()). */
static void
add_stored_values(Relation rel, Snapshot snapshot, Oid database, Oid role)
{
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key[0], Anum_pg_db_role_setting_setdatabase,
				BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(database));
	ScanKeyInit(&key[1], Anum_pg_db_role_setting_setrole,
				BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(role));
	scan = systable_beginscan(rel, DbRoleSettingDatidRolidIndexId, true,
							  snapshot, 2, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		array = heap_getattr(tuple,
										 Anum_pg_db_role_setting_setconfig,
										 RelationGetDescr(rel), &isnull);
		Datum	   *element;
		int			n = 0;

		if (!isnull)
			deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false,
							  TYPALIGN_INT, &element, NULL, &n);
		for (int i = 0; i < n; i++)
		{
			char	   *name;
			char	   *value;

			ParseLongOption(TextDatumGetCString(element[i]), &name, &value);
			for (int s = 0; value != NULL && s < lengthof(settings); s++)
				if (settings[s].conf != NULL &&
					pg_strcasecmp(name, settings[s].name) == 0)
					add_value(&settings[s], value);
		}
	}
	systable_endscan(scan);
}

static void
read_stored_values(Oid owner)
{
	Relation	rel = table_open(DbRoleSettingRelationId, AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(GetCatalogSnapshot(DbRoleSettingRelationId));

	add_stored_values(rel, snapshot, InvalidOid, InvalidOid);
	add_stored_values(rel, snapshot, MyDatabaseId, InvalidOid);
	add_stored_values(rel, snapshot, InvalidOid, owner);
	add_stored_values(rel, snapshot, MyDatabaseId, owner);
	UnregisterSnapshot(snapshot);
	table_close(rel, AccessShareLock);
}

/* Read the values of all settings anew. */
static void
read_defaults(Oid owner)
{
	ConfigVariable *files = NULL;
	bool		read = false;

	known = false;
	path_known = false;
	left_out = NULL;
	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "blogstore defaults",
										ALLOCSET_SMALL_SIZES);
	MemoryContextReset(context);
	for (int s = 0; s < lengthof(settings); s++)
	{
		settings[s].conf = compat_guc_find(settings[s].name);
		settings[s].nvalues = 0;
		settings[s].settled = false;
		settings[s].text = NULL;
		if (settings[s].conf != NULL)
			add_server_value(&settings[s], &files, &read);
	}
	read_stored_values(owner);
	known_owner = owner;
	known_load = PgReloadTime;
	known = true;
}

/* ------------------------------------------------------------------------
 * Setting them
 * ------------------------------------------------------------------------ */

/* Has a setting the value that it had when it was last set? */
static bool
is_set(const GuardedSetting *setting)
{
	const char *text;
	int			number;

	if (!setting->settled)
		return false;
	compat_guc_value(setting->conf, &text, &number);
	if (text == NULL || setting->text == NULL)
		return text == setting->text && number == setting->number;
	return strcmp(text, setting->text) == 0;
}

static bool
set_value(const GuardedSetting *setting, const char *value, int elevel)
{
	return set_config_option(setting->name, value, PGC_SUSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, elevel, false) > 0;
}

/*
 * Set one, and remember what has come of it. A value that cannot be, which a
 * session would have been warned of when it began, is what is compiled in.
 */
static void
set_setting(GuardedSetting *setting)
{
	const char *text;

	for (int i = 0; i < setting->nvalues; i++)
		if (!set_value(setting, setting->value[i], DEBUG1))
			(void) set_value(setting, boot_value(setting), ERROR);
	compat_guc_value(setting->conf, &text, &setting->number);
	setting->text = text ? MemoryContextStrdup(context, text) : NULL;
	setting->settled = true;
}

/*
 * The settings of libraries come, and change their place, when somebody sets one
 * and when its library is loaded.
 */
static void
find_anew(void)
{
	static int	seen = 0;
	int			count = compat_guc_count();
	bool		more = count == 0 || count != seen;

	seen = count;
	for (int s = SEARCH_PATH + 1; s < lengthof(settings); s++)
	{
		GuardedSetting *setting = &settings[s];
		struct config_generic *conf;

		/* one of a library that is loaded stays */
		if (setting->boot == NULL ||
			(setting->conf == NULL ? !more :
			 !(setting->conf->flags & GUC_CUSTOM_PLACEHOLDER)))
			continue;
		conf = compat_guc_find(setting->name);
		if (conf == setting->conf)
			continue;
		setting->conf = conf;
		setting->settled = false;
		known = known && setting->nvalues > 0;
	}
}

/*
 * Look which search_path is safe. It is known only at the end, all at once: an
 * error may come at any step on the way there, and the process go on after it.
 */
static void
read_path(Oid owner)
{
	GuardedSetting *path = &settings[SEARCH_PATH];
	uint64		changes = path_changes; /* none may be lost */
	char	   *out;
	char	   *text = safe_path(owner, path->value[0], &out);

	text = MemoryContextStrdup(context, text);
	left_out = out ? MemoryContextStrdup(context, out) : NULL;
	path->text = text;
	path_known = path_changes == changes;
}

/*
 * Make the search_path what it is for the owner, until the present level of
 * settings ends (NewGUCNestLevel(), AtEOXact_GUC()).
 */
void
defaults_apply_path(Oid owner)
{
	GuardedSetting *path = &settings[SEARCH_PATH];

	if (!known || known_owner != owner || known_load != PgReloadTime)
		read_defaults(owner);
	if (!path_known)
		read_path(owner);
	if (strcmp(namespace_search_path, path->text) != 0)
		(void) set_value(path, path->text, ERROR);
}

/*
 * Make all settings what they are for the owner, until the present level of settings
 * ends.
 */
void
defaults_apply(Oid owner)
{
	bool		changed = false;

	find_anew();
	defaults_apply_path(owner);
	for (int s = SEARCH_PATH + 1; s < lengthof(settings); s++)
	{
		GuardedSetting *setting = &settings[s];

		if (setting->conf == NULL || is_set(setting))
			continue;
		set_setting(setting);
		changed = true;
	}
	/* plans that the session keeps may hold literals as the caller reads them */
	if (changed)
		ResetPlanCache();
}

/* The schemas of the owner's search_path that others may create in; NULL: none. */
const char *
defaults_left_out(void)
{
	return left_out;
}

/* How many settings of the owner's there are. */
int
defaults_count(void)
{
	return lengthof(settings);
}

/* The name of one of the owner's settings, by its number; 0 is search_path. */
const char *
defaults_name(int setting)
{
	return settings[setting].name;
}

/* Called once by _PG_init. */
void
defaults_init(void)
{
	static const int cache[] = {
		NAMESPACEOID, AUTHOID, AUTHMEMROLEMEM, DATABASEOID
	};

	for (int i = 0; i < lengthof(cache); i++)
		invalidation_listen_catalog(cache[i], path_invalidate);
	/* what the postmaster was told on its command line, files do not change */
	for (int s = 0; s < lengthof(settings); s++)
	{
		struct config_generic *conf = compat_guc_find(settings[s].name);

		if (process_shared_preload_libraries_in_progress && conf != NULL &&
			conf->reset_source == PGC_S_ARGV)
			settings[s].fixed = MemoryContextStrdup(TopMemoryContext,
													GetConfigOptionResetString(settings[s].name));
	}
}
