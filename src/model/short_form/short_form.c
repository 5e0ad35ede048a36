/*
 * short_form.c
 *		The short form of a post: the beginning of its content, and some of its
 *		properties.
 *
 * Lists of posts return posts in short form, and the views store their copies
 * of posts in short form. The settings blogstore.short_form_length,
 * blogstore.short_form_format and blogstore.short_form_properties tell what
 * the short form contains. Runs in any process.
 */
#include "postgres.h"

#include "base/characters.h"
#include "base/compat.h"
#include "base/settings.h"
#include "model/short_form/excerpt.h"
#include "model/short_form/short_form.h"

#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

/*
 * Return the first characters of a post's content. If the content is stored
 * out of line, fetch only a slice that is sure to contain these characters.
 */
static text *
first_characters(Datum content, int characters)
{
	int64		max_bytes;
	struct varlena *slice;
	int			bytes;

	/*
	 * Fetch more bytes than needed. If the slice ends in the middle of a
	 * character, characters_clip() stops before that character.
	 */
	max_bytes = ((int64) characters + 2) * character_longest();
	if (max_bytes > MaxAllocSize / 2)
		max_bytes = MaxAllocSize / 2;
	slice = PG_DETOAST_DATUM_SLICE(content, 0, (int32) max_bytes);
	bytes = characters_clip(VARDATA_ANY(slice), VARSIZE_ANY_EXHDR(slice),
							characters);
	return cstring_to_text_with_len(VARDATA_ANY(slice), bytes);
}

/* Return the short form of a post's content, in the current memory context. */
text *
content_shorten(Datum content)
{
	return blogstore_short_form_format == SHORT_FORM_RAW ?
		first_characters(content, blogstore_short_form_length) :
		excerpt_of_html(content, blogstore_short_form_length);
}

/*
 * Remove from a post's properties the top-level keys that the short form does
 * not keep. If no key is left, the properties become null.
 */
static void
shorten_properties(BlogItem *item)
{
	Jsonb	   *object;
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	jv;
	CompatJsonb state = {0};
	bool		keeps = false;
	int			kept = 0;

	if (item->isnull[PROP_PROPERTIES] || short_form_keeps_all())
		return;
	object = DatumGetJsonbP(item->value[PROP_PROPERTIES]);
	if (!JB_ROOT_IS_OBJECT(object))
		return;					/* The value is not a JSON object. Only a
								 * statement of the owner on the table itself
								 * can store such a value. */
	compat_push_jsonb(&state, WJB_BEGIN_OBJECT, NULL);
	it = JsonbIteratorInit(&object->root);
	(void) JsonbIteratorNext(&it, &jv, true);
	while ((token = JsonbIteratorNext(&it, &jv, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			keeps = short_form_keeps(jv.val.string.val, jv.val.string.len);
		if (keeps && (token == WJB_KEY || token == WJB_VALUE))
			compat_push_jsonb(&state, token, &jv);
		kept += keeps && token == WJB_KEY;
	}
	if (kept == 0)
		item->isnull[PROP_PROPERTIES] = true;
	else if (kept < JB_ROOT_COUNT(object))
	{
		compat_push_jsonb(&state, WJB_END_OBJECT, NULL);
		item->value[PROP_PROPERTIES] =
			JsonbPGetDatum(JsonbValueToJsonb(state.result));
	}
}

/*
 * Turn a post into its short form: shorten the content, and remove properties.
 * The new values are allocated in the current memory context.
 */
void
item_shorten(BlogItem *item)
{
	if (!item->isnull[PROP_CONTENT])
		item->value[PROP_CONTENT] =
			PointerGetDatum(content_shorten(item->value[PROP_CONTENT]));
	shorten_properties(item);
}
