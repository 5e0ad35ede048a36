/*
 * settings.c
 *		The settings blogstore.*. Those that shape the views are the server's,
 *		not a session's: changed in postgresql.conf and by a reload.
 *
 * Runs where the library is loaded.
 */
#include "postgres.h"

#include "settings.h"

#include "utils/guc.h"

int			blogstore_feed_size = 100;
int			blogstore_short_form_length = 200;
int			blogstore_count_refresh_interval = 2000;
bool		blogstore_track_requests = true;
bool		blogstore_enable_custom_scan = true;

/* Define the settings; called once by _PG_init. */
void
settings_init(void)
{
	DefineCustomIntVariable("blogstore.feed_size",
							"Posts that the view feed holds.",
							"Older posts are listed from the posts container. Takes effect on reload.",
							&blogstore_feed_size,
							100, 1, 10000,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("blogstore.short_form_length",
							"Characters of a post's content in its short form.",
							"A change has the views built anew on reload.",
							&blogstore_short_form_length,
							200, 1, 1000000,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("blogstore.count_refresh_interval",
							"Time that counts alone may be old in the views while many change.",
							"While few change, and for whoever waits for the views, they are refreshed at once.",
							&blogstore_count_refresh_interval,
							2000, 0, 60000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomBoolVariable("blogstore.track_requests",
							 "Count what requests cost, for blogstore.stat_requests.",
							 NULL,
							 &blogstore_track_requests,
							 true,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("blogstore.enable_custom_scan",
							 "Have queries in FROM planned as scans of the containers.",
							 "Otherwise they are planned as function scans, with the same results.",
							 &blogstore_enable_custom_scan,
							 true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	MarkGUCPrefixReserved("blogstore");
}

/*
 * Change a setting that anybody may change, of the server or of blogstore, until
 * AtEOXact_GUC() ends the level that the caller has begun (NewGUCNestLevel()).
 */
void
setting_change(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}
