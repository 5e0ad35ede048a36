/*
 * post_topics.c
 *		Reading a post's topics from its properties.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "base/settings.h"
#include "model/names/names.h"
#include "model/topics/topics.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/jsonb.h"

/*
 * Set *topic to the topic that a text names, which is the text's name_key().
 * Returns false if the text cannot be a topic: the rules for usernames refuse
 * it, or it or its key is too long.
 */
bool
topic_of_text(Datum text, Datum *topic)
{
	const char *rule;
	struct varlena *key;

	if (!has_name_key(text))
		return false;
	text = username_trim(text);
	if (name_problem(text, MAX_TOPIC_LENGTH, &rule) != NULL)
		return false;
	*topic = name_key(text);
	key = (struct varlena *) DatumGetPointer(*topic);
	return pg_mbstrlen_with_len(VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key)) <=
		MAX_TOPIC_LENGTH;
}

/*
 * Compare two topics by the collation "C". A topic that the owner has written
 * to the container may be so long that it is compressed or toasted.
 */
int
topic_compare(Datum a, Datum b)
{
	struct varlena *va = PG_DETOAST_DATUM_PACKED(a);
	struct varlena *vb = PG_DETOAST_DATUM_PACKED(b);
	int			la = VARSIZE_ANY_EXHDR(va);
	int			lb = VARSIZE_ANY_EXHDR(vb);
	int			order = memcmp(VARDATA_ANY(va), VARDATA_ANY(vb), Min(la, lb));

	return order != 0 ? order : la - lb;
}

bool
topic_begins_with(Datum topic, Datum prefix)
{
	struct varlena *t = PG_DETOAST_DATUM_PACKED(topic);
	struct varlena *p = PG_DETOAST_DATUM_PACKED(prefix);
	int			length = VARSIZE_ANY_EXHDR(p);

	return VARSIZE_ANY_EXHDR(t) >= length &&
		memcmp(VARDATA_ANY(t), VARDATA_ANY(p), length) == 0;
}

bool
topics_have(const TopicList *topics, Datum topic)
{
	for (int i = 0; i < topics->n; i++)
		if (topic_compare(topics->topic[i], topic) == 0)
			return true;
	return false;
}

/*
 * Add the topic that a JSON value names to *topics, if it names one.
 *
 * keep: the memory context of the topics
 */
static void
add_value(TopicList *topics, const JsonbValue *value, MemoryContext keep)
{
	MemoryContext old;
	Datum		topic;

	if (value->type != jbvString || value->val.string.len > MAX_FOLDED_BYTES ||
		!topic_of_text(PointerGetDatum(cstring_to_text_with_len(value->val.string.val,
																value->val.string.len)),
					   &topic) ||
		topics_have(topics, topic))
		return;
	old = MemoryContextSwitchTo(keep);
	topics->topic[topics->n++] = datumCopy(topic, false, -1);
	MemoryContextSwitchTo(old);
}

/*
 * Add the topics in a JSON array to *topics, up to MAX_TOPICS. An array in a
 * post's properties can have thousands of elements. The memory of each element
 * is freed before the next one is read.
 */
static void
add_array(TopicList *topics, JsonbContainer *array)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext,
												  "blogstore topics of a post",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext keep = MemoryContextSwitchTo(scratch);

	for (uint32 i = 0; i < JsonContainerSize(array) && topics->n < MAX_TOPICS; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_value(topics, getIthJsonbValueFromContainer(array, i), keep);
		MemoryContextReset(scratch);
	}
	MemoryContextSwitchTo(keep);
	MemoryContextDelete(scratch);
}

/*
 * Set *topics to the topics of a post, without duplicates. A hidden post has
 * none. Neither has a post whose id is not its post_id, which the owner can
 * have written: no request returns it. The topics are allocated in the current
 * memory context.
 */
void
topics_of_post(const BlogItem *post, TopicList *topics)
{
	Jsonb	   *object;
	JsonbValue	found;
	JsonbValue *value;

	topics->n = 0;
	if (!topics_are_kept() || post->isnull[PROP_PROPERTIES] ||
		item_hidden(post) ||
		memcmp(item_uuid(post, PROP_ID), item_uuid(post, PROP_POST_ID),
			   UUID_LEN) != 0)
		return;
	object = DatumGetJsonbP(post->value[PROP_PROPERTIES]);
	if (!JB_ROOT_IS_OBJECT(object))
		return;
	value = getKeyJsonValueFromContainer(&object->root,
										 blogstore_topic_property,
										 strlen(blogstore_topic_property),
										 &found);
	if (value == NULL)
		return;
	if (value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data))
		add_array(topics, value->val.binary.data);
	else
		add_value(topics, value, CurrentMemoryContext);
}
