/*
 * settings.h
 *		The settings blogstore.*.
 */
#ifndef BLOGSTORE_SETTINGS_H
#define BLOGSTORE_SETTINGS_H

#define MAX_DATABASES 64		/* that can have containers, on one server */

extern int	blogstore_feed_size;
extern int	blogstore_short_form_length;
extern int	blogstore_count_refresh_interval;
extern bool blogstore_track_requests;
extern bool blogstore_enable_custom_scan;

extern void settings_init(void);
extern void setting_change(const char *name, const char *value);

#endif							/* BLOGSTORE_SETTINGS_H */
