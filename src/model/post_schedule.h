/*
 * post_schedule.h
 *		Posts that are hidden until a given date.
 */
#ifndef BLOGSTORE_POST_SCHEDULE_H
#define BLOGSTORE_POST_SCHEDULE_H

#include "base/compat.h"
#include "storage/blog_item.h"

#include "datatype/timestamp.h"

extern bool post_is_scheduled(const BlogItem *post);
extern void post_schedule(BlogItem *post, TimestampTz date);
extern void post_unschedule(BlogItem *post);

#endif							/* BLOGSTORE_POST_SCHEDULE_H */
