/*
 * live_hints.c
 *		Tells listening clients which lists have changed (blogstore.notify).
 *
 * After the worker has committed a batch of changes to the views, it sends a
 * NOTIFY on the channel "blogstore". The payload is a JSON object with the
 * keys of what has changed. A client that receives it finds the views
 * refreshed. Hidden posts are never named.
 *
 * NOTIFY needs a lock that every session with a NOTIFY takes at its commit,
 * and fails if the server's queue of notifications is full. So a hint has a
 * transaction of its own. If it fails, the hint is dropped; the batch is
 * committed already.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/settings.h"
#include "model/topics/topics.h"
#include "model/user_changes/user_changes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

#include "access/xact.h"
#include "commands/async.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/json.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define HINT_CHANNEL "blogstore"

/*
 * The longest payload, in bytes. The server allows somewhat more. A longer
 * hint is replaced by HINT_ALL.
 */
#define MAX_HINT 7900
#define HINT_ALL "{\"all\": true}"

/* A hint with more keys than this is replaced by HINT_ALL, too. */
#define MAX_HINT_KEYS MAX_LISTED_TOPICS

typedef struct Hint
{
	bool		feed;
	List	   *posts;			/* of pg_uuid_t */
	List	   *users;			/* of pg_uuid_t */
	List	   *topics;			/* of text */
} Hint;

/*
 * The payload of the batch that is being applied. It is sent after the commit.
 * NULL if there is nothing to tell. Allocated in TopMemoryContext.
 */
static char *payload = NULL;

/* Whether a hint was dropped since the last one that was sent. */
static bool dropped = false;

static void
set_payload(const char *text)
{
	if (payload != NULL)
		pfree(payload);
	payload = text != NULL ? MemoryContextStrdup(TopMemoryContext, text) : NULL;
}

static List *
add_uuid(List *uuids, const pg_uuid_t *uuid)
{
	pg_uuid_t  *kept;
	ListCell   *lc;

	foreach(lc, uuids)
		if (memcmp(lfirst(lc), uuid, UUID_LEN) == 0)
			return uuids;
	kept = palloc(sizeof(pg_uuid_t));
	*kept = *uuid;
	return lappend(uuids, kept);
}

static List *
add_topic(List *topics, Datum topic)
{
	ListCell   *lc;

	foreach(lc, topics)
		if (topic_compare(PointerGetDatum(lfirst(lc)), topic) == 0)
			return topics;
	return lappend(topics, DatumGetTextPCopy(topic));
}

/*
 * Add a changed post to a hint. The hint names neither a post that is not
 * shown, nor its author, because clients may never have seen the post. The
 * post may have been in the feed before, so the hint says that the feed has
 * changed.
 *
 * deleted: the users who are being deleted
 */
static void
add_post(Hint *hint, ManyPosts *many, const DeletedUsers *deleted,
		 const PostKey *key)
{
	BlogItem	post;
	TopicList	topics = {.n = 0};

	if (!many_posts_find(many, &key->post_id, &post) || item_hidden(&post) ||
		deleted_has_author(deleted, &post))
	{
		hint->feed = true;
		return;
	}
	hint->posts = add_uuid(hint->posts, &key->post_id);
	hint->users = add_uuid(hint->users, &key->user_id);
	topics_of_post(&post, &topics);
	for (int i = 0; i < topics.n; i++)
		hint->topics = add_topic(hint->topics, topics.topic[i]);
}

/*
 * Return whether the feed reaches back to the newest of the changed posts.
 */
static bool
feed_has_any(const PostKey *posts, int n)
{
	Cursor		newest = {.valid = true, .date = DT_NOBEGIN};

	for (int i = 0; i < n; i++)
		if (posts[i].creation_date > newest.date ||
			(posts[i].creation_date == newest.date &&
			 memcmp(&posts[i].post_id, &newest.id, UUID_LEN) > 0))
		{
			newest.date = posts[i].creation_date;
			newest.id = posts[i].post_id;
		}
	return n > 0 && (feed_is_whole() || feed_reaches(&newest));
}

static int
keys_of(const Hint *hint)
{
	return list_length(hint->posts) + list_length(hint->users) +
		list_length(hint->topics);
}

static void
append_uuids(StringInfo out, const char *name, List *uuids)
{
	ListCell   *lc;

	appendStringInfo(out, ", \"%s\": [", name);
	foreach(lc, uuids)
		appendStringInfo(out, "%s\"%s\"", lc == list_head(uuids) ? "" : ", ",
						 id_text(lfirst(lc)));
	appendStringInfoChar(out, ']');
}

static char *
hint_as_json(const Hint *hint)
{
	StringInfoData out;
	ListCell   *lc;

	initStringInfo(&out);
	appendStringInfo(&out, "{\"feed\": %s", hint->feed ? "true" : "false");
	append_uuids(&out, "posts", hint->posts);
	append_uuids(&out, "users", hint->users);
	appendStringInfoString(&out, ", \"topics\": [");
	foreach(lc, hint->topics)
	{
		if (lc != list_head(hint->topics))
			appendStringInfoString(&out, ", ");
		escape_json(&out, TextDatumGetCString(PointerGetDatum(lfirst(lc))));
	}
	appendStringInfoString(&out, "]}");
	return out.data;
}

/*
 * Fill a hint with the keys of what a batch has changed. The active snapshot
 * shows the batch.
 */
static void
fill(Hint *hint, const PostKey *posts, int n, List *topics)
{
	ManyPosts  *many = many_posts_begin(GetActiveSnapshot());
	const DeletedUsers *deleted = deleted_users(GetActiveSnapshot());
	ListCell   *lc;

	for (int i = 0; i < n && keys_of(hint) <= MAX_HINT_KEYS; i++)
		add_post(hint, many, deleted, &posts[i]);
	many_posts_end(many);
	foreach(lc, topics)
		hint->topics = add_topic(hint->topics, PointerGetDatum(lfirst(lc)));
	hint->feed = hint->feed || feed_has_any(posts, n);
}

/*
 * Prepare the hint of a batch, in the transaction that has applied the batch
 * to the views. hint_send() sends it after the commit.
 *
 * posts: the keys of the posts that have changed, an array of n elements
 * topics: the topics that have gained or lost posts
 * feed: whether the feed was written anew
 */
void
hint_prepare(const PostKey *posts, int n, List *topics, bool feed)
{
	Hint		hint = {.feed = feed};
	char	   *json;

	set_payload(NULL);
	if (!blogstore_notify)
		return;
	PushActiveSnapshot(GetLatestSnapshot());
	if (list_length(topics) <= MAX_HINT_KEYS)
		fill(&hint, posts, n, topics);
	PopActiveSnapshot();
	if (list_length(topics) > MAX_HINT_KEYS || keys_of(&hint) > MAX_HINT_KEYS)
		set_payload(HINT_ALL);
	else if (keys_of(&hint) > 0 || hint.feed)
	{
		json = hint_as_json(&hint);
		set_payload(strlen(json) <= MAX_HINT ? json : HINT_ALL);
	}
}

/* Forget the hint of a batch that was rolled back. */
void
hint_forget(void)
{
	set_payload(NULL);
}

/*
 * Send a hint. If hints were dropped before, tell clients that anything may
 * have changed. pg_notification_queue_usage() first frees what nobody has to
 * read any more: a NOTIFY does not do so while the queue is full.
 */
static void
notify(const char *text)
{
	StartTransactionCommand();
	limit_lock_waits();
	if (dropped)
		(void) OidFunctionCall0(F_PG_NOTIFICATION_QUEUE_USAGE);
	Async_Notify(HINT_CHANNEL, dropped ? HINT_ALL : text);
	CommitTransactionCommand();
	dropped = false;
}

/*
 * Roll back after an error of notify(), and log it. The log is written after
 * the rollback, which releases the locks of NOTIFY.
 */
static void
drop(MemoryContext context)
{
	static LogRate rate = {0};
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	apply_roll_back();
	MemoryContextSwitchTo(context);
	dropped = true;
	if (log_rate_allows(&rate))
		ereport(LOG,
				(errmsg("a live hint of database \"%s\" was dropped: %s",
						worker_database(), error->message),
				 errdetail("The views were refreshed.")));
	FreeErrorData(error);
}

/*
 * Send the hint that was prepared. Called outside of a transaction. Errors of
 * the NOTIFY are logged, except a cancellation, which is thrown again.
 */
void
hint_send(void)
{
	MemoryContext context = CurrentMemoryContext;

	if (payload == NULL)
		return;
	PG_TRY();
	{
		notify(payload);
	}
	PG_CATCH();
	{
		if (ERRCODE_TO_CATEGORY(geterrcode()) ==
			ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION))
			PG_RE_THROW();
		drop(context);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	set_payload(NULL);
}

/*
 * Send HINT_ALL. Called when readers can use the views again, outside of a
 * transaction.
 */
void
hint_send_all(void)
{
	if (!blogstore_notify)
		return;
	set_payload(HINT_ALL);
	hint_send();
}
