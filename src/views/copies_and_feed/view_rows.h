/*
 * view_rows.h
 *		What the files of views/copies_and_feed/ and cluster/ share with each other.
 */
#ifndef BLOGSTORE_VIEW_ROWS_H
#define BLOGSTORE_VIEW_ROWS_H

#include "cluster/citus/citus.h"
#include "views/copies_and_feed/copies_and_feed.h"

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "utils/array.h"

/* copies.c */
extern bool copy_current(const BlogItem *copy, const BlogItem *post);

extern void copies_refresh_here(const PostKey *keys, int n);
extern void copies_put(const PostKey *key, const BlogItem *post);
extern bool copies_wanted(ManyPosts *many, const PostKey *key,
						  BlogItem *post);

/* ------------------------------------------------------------------------
 * The feed
 * ------------------------------------------------------------------------ */

/* Posts in the order of the feed. */
typedef struct FeedList
{
	const BlogItem **rows;
	int			n;
	int			room;
	bool		whole;			/* there are no other posts to be shown */
} FeedList;

typedef enum RowChange
{
	ROW_DELETE,
	ROW_INSERT,
	ROW_UPDATE
} RowChange;

/* A row of the feed that is not what it should be. */
typedef struct FeedRow
{
	RowChange	change;
	const BlogItem *row;		/* as it is, or is to be */
} FeedRow;

/* What a batch makes of the feed. */
typedef struct FeedNews
{
	const FeedList *wanted;
	const FeedRow *changed;
	int			n_changed;
	const PostKey *posts;		/* that the batch is about */
	int			n_posts;
} FeedNews;

/* view_feed.c */
extern void feed_read(FeedList *there, bool all);
extern bool feed_row_current(const BlogItem *row, const BlogItem *post);

/* feed_delivery.c: on a cluster */
extern void shards_here_hold(void);
extern bool feed_is_own(const pg_uuid_t *post_id);
extern const PostKey *feed_concerning(const PostKey *keys, int *n);
extern bool feed_shards_moved(void);
extern void feed_ship(const FeedNews *news);

/* ------------------------------------------------------------------------
 * On a cluster
 * ------------------------------------------------------------------------ */

/* Another node, as this node's worker knows it; node_contact.c. */
struct OtherNode
{
	ClusterNode node;			/* but for host */
	char		host[256];
	bool		has_shards;
	bool		in_sync;		/* it has all of the feed from here */
	bool		to_look;		/* it is to look whether its copies have posts */
	bool		lacks;			/* it lacks copies, which unsent_copies.c has by group */
	int			lacks_of;
	pg_uuid_t	sent_up_to;		/* of these */
	bool		confirmed;		/* what it has to send here is here, */
	int			keeps;			/* of so many of its newest posts */
	int64		asked;			/* its last question that is known here */
	TimestampTz answered_at;	/* when it last answered a statement */
	TimestampTz refused_at;		/* when one last failed there */
	TimestampTz try_at;			/* it could not be reached; 0: it could */
	TimestampTz away_at;		/* since when */
	long		pause;
};

extern bool nodes_in_worker(void);
extern int	nodes_others(OtherNode **list);
extern OtherNode *nodes_other(int group);
extern bool node_may_answer(const OtherNode *other);
extern bool node_send(OtherNode *other, const char *sql);
extern bool node_answers(OtherNode *other);
extern void node_lacks(OtherNode *other);
extern void node_got_feed(OtherNode *other, bool got);
extern void nodes_sending(void);
extern void nodes_taking(void);
extern void nodes_unsure(void);
extern void nodes_ask_anew(void);
extern void nodes_confirmed_none(void);
extern uint64 nodes_stamp(void);

/* unsent_copies.c */
extern void unsent_add(int group, const PostKey *key);
extern void unsent_look(OtherNode *others, int n);
extern PostKey *unsent_take(OtherNode *other, int *n);

/* delivery_rows.c: posts as rows, and these as literals of SQL */
extern char *ship_literal(const Datum *row, int n);
extern ArrayType *ship_array(const Datum *row, int n);
extern TupleDesc ship_desc(void);

#endif							/* BLOGSTORE_VIEW_ROWS_H */
