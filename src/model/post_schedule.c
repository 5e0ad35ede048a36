/*
 * post_schedule.c
 *		Posts that are hidden until a given date.
 *
 * A scheduled post is hidden and has a publish_date. When this date has come,
 * the worker shows the post, sets its creation_date to the publish_date, and
 * clears the publish_date (views/worker/scheduled_posts.c). A date that has
 * come already needs no worker: post_schedule() does the same at once.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "model/post_schedule.h"

#include "utils/timestamp.h"

/*
 * Return whether the worker will publish a post. A publish_date has no effect
 * if the post is shown, or if the owner has written an infinite date.
 */
bool
post_is_scheduled(const BlogItem *post)
{
	return item_hidden(post) && !post->isnull[PROP_PUBLISH_DATE] &&
		!TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(post->value[PROP_PUBLISH_DATE]));
}

/*
 * Hide a post until a date. If the date has come, a hidden post is shown
 * instead, with this creation date, and a post that is shown stays as it is.
 * (If its creation date changed, list_feed() could return it twice: at the old
 * date from the feed, and at the new date from posts.) Changes only *post; the
 * caller writes the post.
 */
void
post_schedule(BlogItem *post, TimestampTz date)
{
	if (date > GetCurrentTimestamp())
	{
		set_hidden(post, true);
		item_set(post, PROP_PUBLISH_DATE, TimestampTzGetDatum(date));
		return;
	}
	if (item_hidden(post))
		item_set(post, PROP_CREATION_DATE, TimestampTzGetDatum(date));
	set_hidden(post, false);
	post_unschedule(post);
}

/* Clear a post's publish_date. The post stays hidden or shown. */
void
post_unschedule(BlogItem *post)
{
	post->value[PROP_PUBLISH_DATE] = (Datum) 0;
	post->isnull[PROP_PUBLISH_DATE] = true;
}
