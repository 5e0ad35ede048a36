/*
 * settings.h
 *		The settings named blogstore.*, and changes of the server's settings.
 */
#ifndef BLOGSTORE_SETTINGS_H
#define BLOGSTORE_SETTINGS_H

#define MAX_DATABASES 64		/* databases with containers, on one server */

/* The text from which the short form is cut. */
typedef enum ShortFormFormat
{
	SHORT_FORM_RAW,				/* the content as it is */
	SHORT_FORM_TEXT				/* the text in the content, which is HTML */
} ShortFormFormat;

extern int	blogstore_feed_size;
extern int	blogstore_short_form_length;
extern int	blogstore_short_form_format;	/* ShortFormFormat */
extern int	blogstore_view_refresh_delay;
extern int	blogstore_count_refresh_interval;
extern bool blogstore_track_requests;
extern bool blogstore_enable_custom_scan;
extern char *blogstore_current_user;

/* the properties that the short form keeps */
extern bool short_form_keeps_all(void);
extern bool short_form_keeps(const char *key, int length);
extern const char *short_form_key(int n);
extern int64 short_form_stamp(void);

/*
 * With this search_path, unqualified names find only the server's objects.
 * pg_temp comes last, so that temporary tables hide nothing.
 */
#define SAFE_SEARCH_PATH "pg_catalog, pg_temp"

extern void settings_init(void);
extern void setting_change(const char *name, const char *value);
extern void settings_for_tables(void);
extern void setting_change_local(const char *name, const char *value);

#endif							/* BLOGSTORE_SETTINGS_H */
