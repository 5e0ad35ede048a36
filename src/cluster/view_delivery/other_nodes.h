/*
 * other_nodes.h
 *		Declarations shared by the files of cluster/view_delivery/ alone.
 */
#ifndef BLOGSTORE_OTHER_NODES_H
#define BLOGSTORE_OTHER_NODES_H

#include "cluster/citus/citus.h"
#include "cluster/view_delivery/view_delivery.h"

#include "utils/array.h"

/* What this node's worker knows of another node; see node_contact.c. */
typedef struct OtherNode
{
	ClusterNode node;			/* its host is NULL, see host */
	char		host[256];
	bool		has_shards;
	bool		in_sync;		/* it has all rows of the feed from here */
	bool		to_look;		/* it still has to be told to check its
								 * copies */
	bool		lacks;			/* it lacks copies; unsent_copies.c has their
								 * keys, */
	int			lacks_of;
	pg_uuid_t	sent_up_to;		/* key after which the next ones are sent */
	bool		confirmed;		/* this node has all that it has to send, */
	int			keeps;			/* namely this many of its newest posts */
	int64		asked;			/* its last question known here */
	TimestampTz answered_at;	/* when it last answered a statement */
	TimestampTz refused_at;		/* when it last refused a statement */
	TimestampTz try_at;			/* when to try it again; 0 if it can be
								 * reached */
	TimestampTz away_at;		/* when it could not be reached */
	long		pause;
} OtherNode;

/* node_contact.c: what is known of other nodes */
extern bool nodes_in_worker(void);
extern int	nodes_others(OtherNode **list);
extern OtherNode *nodes_other(int group);
extern bool node_may_answer(const OtherNode *other);
extern bool node_send(OtherNode *other, const char *sql);
extern bool node_answers(OtherNode *other);
extern void node_lacks(OtherNode *other);
extern void node_got_feed(OtherNode *other, bool got);
extern void nodes_sending(void);
extern void nodes_take(void (*take) (void *arg), void *arg);
extern void nodes_unsure(void);
extern void nodes_ask_on_commit(bool rows_lost);
extern uint64 nodes_stamp(void);
extern bool nodes_have_asked(void);
extern void nodes_have_all_look(void);
extern bool nodes_look(void);
extern OtherNode *nodes_lacking(void);
extern void nodes_tell(bool kept);
extern bool nodes_confirm(void);

/* node_news.c: reports of other nodes */
#define MAX_OTHER_NODES 63

typedef struct NodeNews
{
	bool		used;
	int			group;			/* of the reporting node */
	int64		answers;		/* last question of this node that it has
								 * answered */
	int64		asks;			/* its own last question */
	int			keeps;			/* number of its newest posts that it keeps in
								 * the feeds; 0 if they are not up to date */
	TimestampTz heard_at;
} NodeNews;

extern void node_news_take(const NodeNews *news);
extern bool node_news_of(int group, NodeNews *news);
extern void feed_ask_worker(void);
extern bool feed_is_asked_for(bool take);

/* copy_delivery.c: sending and receiving copies */
extern void copies_deliver(const PostKey *keys, int n);
extern void copies_pass_on(const PostKey *keys, int n);
extern void copies_look_elsewhere(const PostKey *keys, int n);
extern void copies_send_unsent(OtherNode *other);

/* unsent_copies.c: keys to be sent later */
extern void unsent_add(int group, const PostKey *key);
extern void unsent_look(OtherNode *others, int n);
extern PostKey *unsent_take(OtherNode *other, int *n);

/* feed_delivery.c: sending rows of the feed */
extern void shards_here_hold(void);
extern void feed_deliver(const PostKey *keys, int n);
extern void feed_deliver_all(void);

/* delivery_rows.c: posts as rows and SQL literals */
extern char *ship_literal(const Datum *row, int n);
extern ArrayType *ship_array(const Datum *row, int n);
extern TupleDesc ship_desc(void);

/* arrived_shards.c: shards moved to this node */
extern void arrivals_note(int64 layout);
extern void arrivals_queue_all(void);

#endif							/* BLOGSTORE_OTHER_NODES_H */
