/*
 * settings.h
 *		The settings named blogstore.*, and functions to change settings of
 *		the server.
 */
#ifndef BLOGSTORE_SETTINGS_H
#define BLOGSTORE_SETTINGS_H

#define MAX_DATABASES 64		/* at most so many databases can use
								 * blogstore */

/*
 * From what blogstore.short_form_length characters of a post's content are cut
 * for the short form, in which lists show posts.
 */
typedef enum ShortFormFormat
{
	SHORT_FORM_RAW,				/* the content as it is stored */
	SHORT_FORM_TEXT				/* the plain text of the content's HTML */
} ShortFormFormat;

extern int	blogstore_feed_size;
extern int	blogstore_short_form_length;
extern int	blogstore_short_form_format;	/* a ShortFormFormat */
extern int	blogstore_view_refresh_delay;
extern int	blogstore_count_refresh_interval;
extern bool blogstore_track_requests;
extern bool blogstore_enable_custom_scan;
extern char *blogstore_current_user;

/*
 * settings.c: the top-level keys of a post's properties that its short form
 * keeps (blogstore.short_form_properties)
 */
extern bool short_form_keeps_all(void);
extern bool short_form_keeps(const char *key, int length);
extern const char *short_form_key(int n);
extern int64 short_form_stamp(void);

/*
 * A search_path for statements of blogstore. Unqualified names find only the
 * server's objects in it. pg_temp comes last, because otherwise the server
 * would search it first, and temporary tables could hide the server's.
 */
#define SAFE_SEARCH_PATH "pg_catalog, pg_temp"

extern void settings_init(void);
extern void setting_change(const char *name, const char *value);
extern void settings_for_tables(void);
extern void setting_change_local(const char *name, const char *value);

#endif							/* BLOGSTORE_SETTINGS_H */
