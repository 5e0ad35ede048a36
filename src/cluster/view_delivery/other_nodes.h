/*
 * other_nodes.h
 *		Declarations for the files of cluster/view_delivery/ only.
 */
#ifndef BLOGSTORE_OTHER_NODES_H
#define BLOGSTORE_OTHER_NODES_H

#include "cluster/citus/citus.h"
#include "cluster/view_delivery/view_delivery.h"

#include "utils/array.h"

/* What this node's worker knows of another node; see node_contact.c. */
typedef struct OtherNode
{
	ClusterNode node;			/* node.host is NULL; the name is in host */
	char		host[256];
	bool		has_shards;

	/* True if the node has all rows of the feed that this node has to send. */
	bool		has_feed;

	/* True if the node still has to be told to check its copies of posts. */
	bool		must_look;

	/*
	 * True if the node lacks copies of posts. unsent_copies.c stores their
	 * keys under the number of a node group, and sends the copies in the order
	 * of the keys; sent_up_to is the last key whose copy was sent.
	 */
	bool		lacks_copies;
	int			unsent_group;
	pg_uuid_t	sent_up_to;

	/* True if the node has sent to this one all that it has to send. */
	bool		has_sent_all;

	/* How many of its newest posts the node keeps in every feed. */
	int			keeps;

	/* the node's last question that is known here */
	int64		question;

	/*
	 * When the node last answered a statement, and when it last refused one.
	 */
	TimestampTz answered_at;
	TimestampTz refused_at;

	/*
	 * If the node could not be reached: when to try again, since when, and the
	 * pause before the next attempt, in ms. try_at is 0 if the node was
	 * reached.
	 */
	TimestampTz try_at;
	TimestampTz away_at;
	long		pause;
} OtherNode;

/* node_contact.c: what this node's worker knows of other nodes */
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

/* node_news.c: the reports of other nodes */
#define MAX_OTHER_NODES 63

/*
 * The report of another node to this one. A question is a number; see
 * node_contact.c.
 */
typedef struct NodeNews
{
	bool		used;
	int			group;			/* the group of the reporting node */

	/* This node's last question that the reporting node has answered. */
	int64		answers;

	int64		asks;			/* the reporting node's last question */

	/*
	 * How many of its newest posts the reporting node keeps in every feed; 0
	 * if it does not keep the feeds up to date.
	 */
	int			keeps;

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

/* unsent_copies.c: keys of copies that are sent later */
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

/* arrived_shards.c: shards that were moved to this node */
extern void arrivals_note(int64 layout);
extern void arrivals_queue_all(void);

#endif							/* BLOGSTORE_OTHER_NODES_H */
