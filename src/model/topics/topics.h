/*
 * topics.h
 *		The topics of posts, and the container "topics", which tells which
 *		posts have a topic.
 *
 * A post's topics are in the property that blogstore.topic_property names. A
 * topic is compared as a username is: by its name_key(), which is also what
 * queries return.
 *
 * The container has two types of rows: ITEM_TOPIC_POST, one for each topic of
 * each post, and ITEM_TOPIC, one for each topic, with the number of its posts.
 * Hidden posts have no rows. On a cluster, each node has rows of its own posts
 * only. A process that writes the container has called views_lock().
 */
#ifndef BLOGSTORE_TOPICS_H
#define BLOGSTORE_TOPICS_H

#include "storage/blog_item.h"

#define MAX_TOPICS 16			/* of more topics of a post, the first count */
#define MAX_TOPIC_LENGTH 100	/* in characters */

/*
 * topic_changes_list() lists topics up to this number, and one more. Each
 * could be listed several times.
 */
#define MAX_LISTED_TOPICS 200

typedef struct TopicList
{
	int			n;
	Datum		topic[MAX_TOPICS];
} TopicList;

/* post_topics.c */
extern bool topic_of_text(Datum text, Datum *topic);
extern void topics_of_post(const BlogItem *post, TopicList *topics);
extern bool topics_have(const TopicList *topics, Datum topic);
extern int	topic_compare(Datum a, Datum b);
extern bool topic_begins_with(Datum topic, Datum prefix);

/* topic_rows.c */
typedef struct TopicChanges TopicChanges;

extern TopicChanges *topic_changes_make(void);
extern TopicChanges *topic_changes_begin(void);
extern void topic_changes_list(TopicChanges *changes, List **written);
extern void topic_changes_add(TopicChanges *changes, const pg_uuid_t *post_id,
							  const pg_uuid_t *user_id, TimestampTz date,
							  const TopicList *topics, bool wanted);
extern void topic_changes_post(TopicChanges *changes, const BlogItem *post);
extern bool topic_changes_full(const TopicChanges *changes);
extern void topic_changes_flush(TopicChanges *changes);
extern void topic_changes_end(TopicChanges *changes);
extern int64 topic_count_posts(Datum topic);
extern bool topic_has_posts(Datum topic);
extern void topic_count_set(Datum topic, int64 count);

/* topic_refresh.c */
extern void topics_refresh(pg_uuid_t *ids, int n, List **topics);

/* topic_sweep.c */
extern void topics_sweep_begin(void);
extern bool topics_sweep(int *partition, int64 *done);

#endif							/* BLOGSTORE_TOPICS_H */
