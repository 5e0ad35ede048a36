/*
 * settings.c
 *		The settings named blogstore.*.
 *
 * The settings that the worker reads are PGC_SIGHUP, so that they have the
 * same value in all processes. Runs in any process.
 */
#include "postgres.h"

#include <ctype.h>

#include "base/compat.h"
#include "base/settings.h"

#include "common/hashfn.h"
#include "nodes/pg_list.h"
#include "utils/guc.h"
#include "utils/varlena.h"

int			blogstore_feed_size = 100;
int			blogstore_short_form_length = 200;
int			blogstore_short_form_format = SHORT_FORM_RAW;
static char *short_form_properties = NULL;
char	   *blogstore_topic_property = "";
int			blogstore_view_refresh_delay = 10;
int			blogstore_count_refresh_interval = 3000;
bool		blogstore_track_requests = true;
bool		blogstore_notify = false;
bool		blogstore_enable_custom_scan = true;
char	   *blogstore_current_user = NULL;

static const struct config_enum_entry short_form_formats[] = {
	{"raw", SHORT_FORM_RAW, false},
	{"text", SHORT_FORM_TEXT, false},
	{NULL, 0, false}
};

static bool
is_uuid(const char *text)
{
	const char *form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	for (; *form != '\0' && *text != '\0'; form++, text++)
		if (*form == '-' ? *text != '-' : !isxdigit((unsigned char) *text))
			return false;
	return *form == *text;
}

static bool
check_current_user(char **value, void **extra, GucSource source)
{
	if (*value == NULL || (*value)[0] == '\0' || is_uuid(*value))
		return true;
	GUC_check_errdetail("The value is not a uuid.");
	GUC_check_errhint("Set the id of a user, or an empty string for no user.");
	return false;
}

/*
 * The parsed value of blogstore.short_form_properties: a list of keys of the
 * JSON column "properties".
 *
 * all: whether one of the keys is *, which means all keys
 * n: number of keys in the list
 * key: the keys one after another, each with a terminating zero byte
 */
typedef struct ShortFormKeys
{
	bool		all;
	int			n;
	char		key[FLEXIBLE_ARRAY_MEMBER];
} ShortFormKeys;

static const ShortFormKeys *keys = NULL;

/*
 * Check hook of blogstore.short_form_properties: parse the list of keys into
 * *extra.
 */
static bool
check_keys(char **value, void **extra, GucSource source)
{
	char	   *copy = pstrdup(*value);
	List	   *list;
	ListCell   *lc;
	ShortFormKeys *parsed;
	char	   *next;

	if (!SplitGUCList(copy, ',', &list))
	{
		GUC_check_errdetail("List syntax is invalid.");
		pfree(copy);
		list_free(list);
		return false;
	}
	parsed = compat_guc_malloc(offsetof(ShortFormKeys, key) +
							   strlen(*value) + 2);
	if (parsed == NULL)
		return false;
	parsed->all = false;
	parsed->n = list_length(list);
	next = parsed->key;
	foreach(lc, list)
	{
		strcpy(next, lfirst(lc));
		parsed->all |= strcmp(next, "*") == 0;
		next += strlen(next) + 1;
	}
	pfree(copy);
	list_free(list);
	*extra = parsed;
	return true;
}

static void
assign_keys(const char *value, void *extra)
{
	keys = extra;
}

bool
short_form_keeps_all(void)
{
	return keys == NULL || keys->all;
}

/*
 * Return whether the worker keeps the container "topics". This is so if
 * blogstore.topic_property names a property.
 */
bool
topics_are_kept(void)
{
	return blogstore_topic_property[0] != '\0';
}

/*
 * Return whether a post's short form keeps the given key of the JSON column
 * "properties". It always keeps the property that has the post's topics: when
 * the post changes, the worker reads the old topics from the post's copy.
 *
 * length: the length of the key in bytes
 */
bool
short_form_keeps(const char *key, int length)
{
	const char *one;

	if (short_form_keeps_all())
		return true;
	if (topics_are_kept() && strlen(blogstore_topic_property) == length &&
		memcmp(blogstore_topic_property, key, length) == 0)
		return true;
	one = keys->key;
	for (int i = 0; i < keys->n; i++)
	{
		if (strlen(one) == length && memcmp(one, key, length) == 0)
			return true;
		one += strlen(one) + 1;
	}
	return false;
}

/*
 * Return key number n of the keys that the short form keeps: the list
 * blogstore.short_form_properties, and the property that has the topics. The
 * first key has the number 0. Returns NULL if there are n keys or fewer.
 */
const char *
short_form_key(int n)
{
	const char *one;

	if (keys != NULL && n == keys->n && topics_are_kept())
		return blogstore_topic_property;
	if (keys == NULL || n >= keys->n)
		return NULL;
	one = keys->key;
	for (int i = 0; i < n; i++)
		one += strlen(one) + 1;
	return one;
}

/*
 * Return a hash of blogstore.short_form_properties,
 * blogstore.short_form_format and blogstore.topic_property; 0 if all have
 * their defaults. The worker stores the hash with the state of the views. If
 * the stored hash differs from this function's result, the settings were
 * changed, and the worker rebuilds the views.
 */
int64
short_form_stamp(void)
{
	const char *list = short_form_keeps_all() ? "" : short_form_properties;
	uint64		stamp;

	if (short_form_keeps_all() &&
		blogstore_short_form_format == SHORT_FORM_RAW && !topics_are_kept())
		return 0;
	stamp = hash_bytes_extended((const unsigned char *) list, strlen(list),
								blogstore_short_form_format +
								2 * short_form_keeps_all());
	if (topics_are_kept())
		stamp = hash_bytes_extended((const unsigned char *) blogstore_topic_property,
									strlen(blogstore_topic_property), stamp);
	return (int64) (stamp >> 1) + 1;
}

void
settings_init(void)
{
	DefineCustomIntVariable("blogstore.feed_size",
							"Sets how many posts the feed holds.",
							"Older posts are listed from the posts container.",
							&blogstore_feed_size,
							100, 1, 10000,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("blogstore.short_form_length",
							"Sets how many characters of a post's content its short form keeps.",
							"A change has the worker rebuild the views.",
							&blogstore_short_form_length,
							200, 1, 1000000,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("blogstore.short_form_format",
							 "Sets what a post's short form is cut from.",
							 "The content itself (raw), or the text of its HTML (text). A change has the worker rebuild the views.",
							 &blogstore_short_form_format,
							 SHORT_FORM_RAW, short_form_formats,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("blogstore.short_form_properties",
							   "Sets which keys of a post's properties its short form keeps.",
							   "A list of top-level keys, or * for all. A change has the worker rebuild the views.",
							   &short_form_properties,
							   "*",
							   PGC_SIGHUP, GUC_LIST_INPUT, check_keys, assign_keys, NULL);
	DefineCustomStringVariable("blogstore.topic_property",
							   "Sets which property of a post holds its topics.",
							   "A top-level key, whose value is a string or an array of strings. Empty for no topics. A change has the worker rebuild the views.",
							   &blogstore_topic_property,
							   "",
							   PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("blogstore.view_refresh_delay",
							"Sets how long the worker gathers commits before it refreshes the views.",
							"The worker does not wait while there are fewer than 200 commits a second, or while a session waits for the views.",
							&blogstore_view_refresh_delay,
							10, 0, 1000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("blogstore.count_refresh_interval",
							"Sets how old counts in the views may become while many change.",
							"The worker does not wait while few change, or while a session waits for the views.",
							&blogstore_count_refresh_interval,
							3000, 0, 60000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomBoolVariable("blogstore.notify",
							 "Sends live hints: a NOTIFY after the views were refreshed.",
							 "The channel is blogstore. The payload has the keys of what has changed, as JSON.",
							 &blogstore_notify,
							 false,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("blogstore.track_requests",
							 "Collects what requests cost, for blogstore.stat_requests.",
							 NULL,
							 &blogstore_track_requests,
							 true,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("blogstore.enable_custom_scan",
							 "Enables the planner to plan queries in FROM as scans of the containers.",
							 "Function scans, which are used otherwise, return the same rows.",
							 &blogstore_enable_custom_scan,
							 true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomStringVariable("blogstore.current_user_id",
							   "Sets the user for whom wrappers made with as_caller act.",
							   "Empty for nobody. Superusers and roles that were granted SET on it can set it.",
							   &blogstore_current_user,
							   "",
							   PGC_SUSET, GUC_NOT_IN_SAMPLE,
							   check_current_user, NULL, NULL);
	MarkGUCPrefixReserved("blogstore");
}

/*
 * Change one of the settings that any user may change, until the caller's GUC
 * nesting level ends (NewGUCNestLevel(), AtEOXact_GUC()). Errors: those of
 * set_config_option().
 */
void
setting_change(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Set the settings that affect blogstore's CREATE TABLE statements, until the
 * caller's GUC nesting level ends (AtEOXact_GUC()). The settings of the
 * session, the role and the database are overridden.
 */
void
settings_for_tables(void)
{
	setting_change("search_path", SAFE_SEARCH_PATH);
	setting_change("default_table_access_method", "heap");
	/*
	 * The server refuses to create a partitioned table if default_tablespace
	 * names the tablespace of the database itself.
	 */
	setting_change("default_tablespace", "");
}

/*
 * Change one of the settings that any user may change, until the transaction
 * ends. Errors: those of set_config_option().
 */
void
setting_change_local(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
}
