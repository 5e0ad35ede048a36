/*
 * other_nodes.h
 *		Declarations for the files of cluster/view_delivery/ only.
 */
#ifndef BLOGSTORE_OTHER_NODES_H
#define BLOGSTORE_OTHER_NODES_H

#include "cluster/citus/citus.h"
#include "cluster/view_delivery/view_delivery.h"

#include "utils/array.h"

/* What this node's worker knows of another node (node_contact.c). */
typedef struct OtherNode
{
	/* The node's address is in "host"; node.host is NULL. */
	ClusterNode node;
	char		host[256];
	bool		has_shards;

	/* True if the other node has all feed rows of this node's posts. */
	bool		has_feed;

	/*
	 * True if the other node has to check its copies of posts, and has not
	 * been told yet (nodes_have_all_look()).
	 */
	bool		must_look;

	/*
	 * lacks_copies: whether the table "unsent" has keys of copies that still
	 *	have to be sent to the other node
	 * unsent_group: the value of the column node_group by which these keys are
	 *	found in "unsent". It is the other node's groupid, or that of a node
	 *	that was removed from the cluster (unsent_look()).
	 * sent_up_to: the id of the last row of "unsent" that was sent; rows are
	 *	sent in the order of their ids
	 */
	bool		lacks_copies;
	int			unsent_group;
	pg_uuid_t	sent_up_to;

	/*
	 * True if the other node has sent all copies and feed rows of its posts to
	 * this node.
	 */
	bool		has_sent_all;

	/*
	 * At least this many of the other node's newest posts are in the feed of
	 * every node.
	 */
	int			keeps;

	/*
	 * The number "asks" of the other node's last report. A new number asks for
	 * all feed rows of this node.
	 */
	int64		question;

	/*
	 * answered_at: when the other node last answered a statement
	 * refused_at: when a statement last failed on the other node
	 */
	TimestampTz answered_at;
	TimestampTz refused_at;

	/*
	 * Used while the other node cannot be reached.
	 *
	 * try_at: the earliest time of the next attempt to reach the node; 0 if
	 *	the last attempt has succeeded
	 * away_at: the time of the last failed attempt
	 * pause: the last pause between two attempts, in ms; doubled after each
	 *	failure
	 */
	TimestampTz try_at;
	TimestampTz away_at;
	long		pause;
} OtherNode;

/* node_contact.c */
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

/* node_news.c */
#define MAX_OTHER_NODES 63

/*
 * The last report that another node has sent to this node. A node asks for all
 * feed rows of another node by a new number in "asks". When the other node has
 * sent these rows, it returns the number in "answers" of its own reports.
 */
typedef struct NodeNews
{
	bool		used;
	int			group;			/* groupid (in pg_dist_node) of the reporter */

	/*
	 * The number "asks" that this node has reported last. 0 as long as the
	 * reporting node still has to send feed rows to this node.
	 */
	int64		answers;

	/* A new number asks this node for all its feed rows. */
	int64		asks;

	/*
	 * At least this many of the reporting node's newest posts are in the feed
	 * of every node. 0 if this node lacks feed rows or copies of the reporting
	 * node's posts.
	 */
	int			keeps;

	TimestampTz heard_at;
} NodeNews;

extern void node_news_take(const NodeNews *news);
extern bool node_news_of(int group, NodeNews *news);
extern void feed_ask_worker(void);
extern bool feed_is_asked_for(bool take);

/* copy_delivery.c */
extern void copies_deliver(const PostKey *keys, int n);
extern void copies_pass_on(const PostKey *keys, int n);
extern void copies_look_elsewhere(const PostKey *keys, int n);
extern void copies_send_unsent(OtherNode *other);

/* unsent_copies.c */
extern void unsent_add(int group, const PostKey *key);
extern void unsent_look(OtherNode *others, int n);
extern PostKey *unsent_take(OtherNode *other, int *n);

/* feed_delivery.c */
extern void shards_here_hold(void);
extern void feed_deliver(const PostKey *keys, int n);
extern void feed_deliver_all(void);

/* delivery_rows.c */
extern char *ship_literal(const Datum *row, int n);
extern ArrayType *ship_array(const Datum *row, int n);
extern TupleDesc ship_desc(void);

/* arrived_shards.c */
extern void arrivals_note(int64 layout);
extern void arrivals_queue_all(void);

#endif							/* BLOGSTORE_OTHER_NODES_H */
