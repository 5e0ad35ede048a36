/*
 * verify_topics.c
 *		Comparing the container topics with the topics of the posts, for
 *		verify(); and repairing what it finds.
 *
 * No SQL function reads the topics of a post. So C code computes them, and
 * registers them with SPI as an ephemeral named relation, which the statement
 * that compares joins.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/compat.h"
#include "base/settings.h"
#include "model/post_counts/post_counts.h"
#include "model/topics/topics.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define TOPICS_WANTED "topics_wanted"

/* The columns of TOPICS_WANTED. The query returns TOPIC_PROPERTIES instead. */
enum
{
	TOPIC_ID,
	TOPIC_USER_ID,
	TOPIC_CREATION_DATE,
	TOPIC_TOPIC,
	N_TOPIC_COLUMNS
};

#define TOPIC_PROPERTIES TOPIC_TOPIC

typedef struct TopicReceiver
{
	DestReceiver pub;
	Tuplestorestate *rows;
	TupleDesc	desc;
	MemoryContext context;
} TopicReceiver;

/* The shown posts that may have topics */
#define WANTED_SQL \
	"SELECT id::uuid, user_id::uuid, creation_date::timestamptz," \
	" properties::jsonb FROM %s AS p" \
	" WHERE type = 'post' AND hidden IS NOT TRUE AND properties IS NOT NULL" \
	" AND num_nulls(id, user_id, creation_date) = 0 AND post_id = id"

/* its SQL is set before it runs */
static KeptPlan wanted_plan = {0, NULL, 0, {0}, NULL};

#define ROW_NULLS_SQL \
	"(topic IS NULL OR CASE type WHEN 'topic' THEN post_count IS NULL" \
	" ELSE num_nulls(creation_date, id, user_id) > 0 END)"

/*
 * A count is compared with the rows of the container, and not with the posts:
 * a row that is missing or extra is a finding of its own. A finding about a
 * count names the topic and the count.
 */
static KeptPlan compare_plan = {
	ON_TOPICS,
	"WITH there AS MATERIALIZED (SELECT type, topic, creation_date, id, user_id,"
	" post_count, " ROW_NULLS_SQL " AS invalid FROM " TOPICS_SQL "),"
	" posts AS MATERIALIZED (SELECT * FROM there WHERE type = 'topic_post' AND NOT invalid)"
	" SELECT 'topics', CASE WHEN t.id IS NULL THEN 'missing copy'"
	" WHEN w.id IS NULL THEN 'extra copy' ELSE 'stale copy' END, 'topic_post',"
	" coalesce(w.id, t.id), coalesce(w.id, t.id), coalesce(w.user_id, t.user_id),"
	" w.topic::text, t.topic::text, coalesce(w.creation_date, t.creation_date)"
	" FROM " TOPICS_WANTED " AS w FULL JOIN posts AS t"
	" ON w.topic COLLATE \"C\" = t.topic AND w.creation_date = t.creation_date"
	" AND w.id = t.id WHERE w.user_id IS DISTINCT FROM t.user_id"
	" UNION ALL SELECT 'topics', 'post_count', 'topic', NULL::uuid, NULL::uuid, NULL::uuid,"
	" n.topic || ': ' || n.posts, c.topic || ': ' || c.post_count, NULL::timestamptz"
	" FROM (SELECT topic, count(*) AS posts FROM posts GROUP BY topic) AS n"
	" FULL JOIN (SELECT * FROM there WHERE type = 'topic' AND NOT invalid) AS c"
	" ON c.topic = n.topic WHERE n.posts IS DISTINCT FROM c.post_count"
	" UNION ALL SELECT 'topics', 'invalid', i.type, i.id, i.id, i.user_id,"
	" 'not null', i.topic::text, i.creation_date FROM there AS i WHERE i.invalid",
	0, {0}, NULL
};

static KeptPlan invalid_plan = {
	ON_TOPICS, "DELETE FROM " TOPICS_SQL " WHERE " ROW_NULLS_SQL, 0, {0}, NULL
};

static void
topic_startup(DestReceiver *self, int operation, TupleDesc desc)
{
}

static bool
topic_receive(TupleTableSlot *slot, DestReceiver *self)
{
	TopicReceiver *receiver = (TopicReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);
	Datum		values[N_TOPIC_COLUMNS];
	bool		isnull[N_TOPIC_COLUMNS] = {false};
	BlogItem	post;
	TopicList	topics;

	slot_getallattrs(slot);
	memcpy(values, slot->tts_values, TOPIC_PROPERTIES * sizeof(Datum));
	item_init(&post, ITEM_POST);
	item_set(&post, PROP_ID, values[TOPIC_ID]);
	item_set(&post, PROP_POST_ID, values[TOPIC_ID]);
	item_set(&post, PROP_PROPERTIES, slot->tts_values[TOPIC_PROPERTIES]);
	topics_of_post(&post, &topics);
	for (int i = 0; i < topics.n; i++)
	{
		values[TOPIC_TOPIC] = topics.topic[i];
		tuplestore_putvalues(receiver->rows, receiver->desc, values, isnull);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->context);
	return true;
}

static void
topic_shutdown(DestReceiver *self)
{
}

static void
topic_destroy(DestReceiver *self)
{
	TopicReceiver *receiver = (TopicReceiver *) self;

	tuplestore_end(receiver->rows);
	FreeTupleDesc(receiver->desc);
	MemoryContextDelete(receiver->context);
	pfree(receiver);
}

static TupleDesc
topic_columns(void)
{
	TupleDesc	desc = CreateTemplateTupleDesc(N_TOPIC_COLUMNS);

	TupleDescInitEntry(desc, TOPIC_ID + 1, "id", UUIDOID, -1, 0);
	TupleDescInitEntry(desc, TOPIC_USER_ID + 1, "user_id", UUIDOID, -1, 0);
	TupleDescInitEntry(desc, TOPIC_CREATION_DATE + 1, "creation_date",
					   TIMESTAMPTZOID, -1, 0);
	TupleDescInitEntry(desc, TOPIC_TOPIC + 1, "topic", TEXTOID, -1, 0);
	compat_tuple_desc_finalize(desc);
	return desc;
}

static TopicReceiver *
receiver_make(void)
{
	TopicReceiver *receiver = palloc0(sizeof(TopicReceiver));

	receiver->pub.receiveSlot = topic_receive;
	receiver->pub.rStartup = topic_startup;
	receiver->pub.rShutdown = topic_shutdown;
	receiver->pub.rDestroy = topic_destroy;
	receiver->pub.mydest = DestTuplestore;
	receiver->rows = tuplestore_begin_heap(true, false, work_mem);
	receiver->desc = topic_columns();
	receiver->context = AllocSetContextCreate(CurrentMemoryContext,
											  "blogstore topics wanted",
											  ALLOCSET_DEFAULT_SIZES);
	return receiver;
}

/*
 * Compare the container with the topics of the posts, with the active
 * snapshot, and return the findings. On a cluster, compare the topics of this
 * node. The caller has called SPI_connect(), and acts as the containers'
 * owner. Errors: 55000.
 */
SPITupleTable *
topics_compare(void)
{
	TopicReceiver *receiver = receiver_make();
	EphemeralNamedRelation relation = palloc0(sizeof(EphemeralNamedRelationData));

	if (topics_are_kept())
	{
		wanted_plan.sql = psprintf(WANTED_SQL, own_posts_sql(&wanted_plan.tables));
		plan_send_once(&wanted_plan, &receiver->pub);
	}
	relation->md.name = TOPICS_WANTED;
	relation->md.tupdesc = receiver->desc;
	relation->md.enrtype = ENR_NAMED_TUPLESTORE;
	relation->md.enrtuples = tuplestore_tuple_count(receiver->rows);
	relation->reldata = receiver->rows;
	if (SPI_register_relation(relation) != SPI_OK_REL_REGISTER)
		elog(ERROR, "could not register the relation of topics");
	plan_execute_once(&compare_plan, NULL, true);
	if (SPI_unregister_relation(TOPICS_WANTED) != SPI_OK_REL_UNREGISTER)
		elog(ERROR, "could not take the relation of topics away");
	receiver->pub.rDestroy(&receiver->pub);
	return SPI_tuptable;
}

bool
finding_is_of_topics(const Finding *f)
{
	return strcmp(f->container, container_table(CONTAINER_TOPICS)) == 0;
}

/* Return whether a finding is about which posts have a topic. */
bool
finding_is_of_topic_post(const Finding *f)
{
	return finding_is_of_topics(f) &&
		strcmp(f->type, item_type_name(ITEM_TOPIC_POST)) == 0;
}

/*
 * Delete rows that lack required values. The deletion is decoded, so the
 * worker builds the topics anew.
 */
static void
drop_invalid(const Finding *findings, uint64 n)
{
	bool		any = false;

	for (uint64 i = 0; i < n; i++)
		any |= finding_is_of_topics(&findings[i]) &&
			finding_is(&findings[i], "invalid");
	if (!any)
		return;
	SPI_connect();
	plan_execute_once(&invalid_plan, NULL, false);
	SPI_finish();
}

/*
 * Return the topic of a finding about a count: the text before the last colon.
 */
static Datum
topic_of_count(const Finding *f)
{
	const char *text = f->expected[0] != '\0' ? f->expected : f->actual;
	const char *colon = strrchr(text, ':');

	return PointerGetDatum(cstring_to_text_with_len(text, colon ? colon - text : 0));
}

/*
 * Note whether the post of a finding should have a row for the finding's
 * topic.
 */
static void
mend_topic_post(TopicChanges *changes, ManyPosts *many, const Finding *f)
{
	TopicList	topics = {.n = 0};
	TopicList	topic = {.n = 1};
	BlogItem	post;
	bool		there = many_posts_find(many, &f->post_id, &post) &&
		item_date(&post) == f->creation_date;

	topic.topic[0] = CStringGetTextDatum(f->expected[0] != '\0' ?
										 f->expected : f->actual);
	if (there)
		topics_of_post(&post, &topics);
	topic_changes_add(changes, &f->post_id,
					  there ? item_uuid(&post, PROP_USER_ID) : &f->user_id,
					  f->creation_date, &topic,
					  topics_have(&topics, topic.topic[0]));
}

/*
 * Repair what the findings say about topics. Reads the posts anew. The caller
 * has called views_lock(), and has an active snapshot.
 */
void
mend_topics(const Finding *findings, uint64 n)
{
	ManyPosts  *many = many_posts_begin(GetActiveSnapshot());
	TopicChanges *changes = topic_changes_make();
	MemoryContext per_finding = AllocSetContextCreate(CurrentMemoryContext,
													  "blogstore finding about topics",
													  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(per_finding);

	drop_invalid(findings, n);
	for (uint64 i = 0; i < n; i++)
	{
		const Finding *f = &findings[i];

		CHECK_FOR_INTERRUPTS();
		if (finding_is_of_topic_post(f) && f->has_keys &&
			!finding_is(f, "invalid"))
			mend_topic_post(changes, many, f);
		MemoryContextReset(per_finding);
	}
	many_posts_end(many);
	topic_changes_end(changes);
	for (uint64 i = 0; i < n; i++)
	{
		if (finding_is_of_topics(&findings[i]) &&
			finding_is(&findings[i], "post_count"))
		{
			Datum		topic = topic_of_count(&findings[i]);

			topic_count_set(topic, topic_count_posts(topic));
		}
		MemoryContextReset(per_finding);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(per_finding);
}
