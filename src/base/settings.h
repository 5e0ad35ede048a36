/*
 * settings.h
 *		The settings named blogstore.*, and functions to change settings of
 *		the server.
 */
#ifndef BLOGSTORE_SETTINGS_H
#define BLOGSTORE_SETTINGS_H

/* maximum number of databases of a server that use blogstore */
#define MAX_DATABASES 64

/*
 * The values of blogstore.short_form_format: what the short form of a post is
 * cut from.
 */
typedef enum ShortFormFormat
{
	SHORT_FORM_RAW,				/* the stored content */
	SHORT_FORM_TEXT				/* the content without its HTML tags */
} ShortFormFormat;

extern int	blogstore_feed_size;
extern int	blogstore_short_form_length;
extern int	blogstore_short_form_format;	/* a ShortFormFormat */
extern char *blogstore_topic_property;
extern int	blogstore_view_refresh_delay;
extern int	blogstore_count_refresh_interval;
extern bool blogstore_track_requests;
extern bool blogstore_notify;
extern bool blogstore_enable_custom_scan;
extern char *blogstore_current_user;

extern bool topics_are_kept(void);
extern bool short_form_keeps_all(void);
extern bool short_form_keeps(const char *key, int length);
extern const char *short_form_key(int n);
extern int64 short_form_stamp(void);

/*
 * A search_path for blogstore's own statements. With it, unqualified names
 * find only objects of the server. If pg_temp were not listed, the server
 * would search it first, and temporary tables could take the place of system
 * catalogs.
 */
#define SAFE_SEARCH_PATH "pg_catalog, pg_temp"

extern void settings_init(void);
extern void setting_change(const char *name, const char *value);
extern void settings_for_tables(void);
extern void setting_change_local(const char *name, const char *value);

#endif							/* BLOGSTORE_SETTINGS_H */
