/*
 * source_json.c
 *		Bulk import: parses JSON that a source contains as text.
 *
 * The types text and json accept some values that jsonb does not: \u0000, half
 * of a surrogate pair, a number with too many digits. The server's jsonb
 * parser throws an error for such a value, but the import must reject only the
 * item that has the value. So each text is parsed in a subtransaction.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/characters.h"
#include "import/sources/sources.h"
#include "requests/requests.h"

#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/*
 * In the table for rejected items, invalid JSON is cut to this many bytes if
 * it is longer than MAX_TEXT_BYTES.
 */
#define KEPT_LENGTH 200

/*
 * Return whether the parsed text has caused an error of the jsonb parser. An
 * error such as a lack of memory has another cause.
 */
static bool
is_fault_of_text(const ErrorData *error)
{
	int			category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	return category == ERRCODE_DATA_EXCEPTION ||
		category == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

/*
 * Parse a text as jsonb in a subtransaction. Returns the message of the
 * parser's error; NULL if the text is valid. *jsonb is allocated in the
 * current memory context.
 */
static const char *
try_parse(const char *text, Datum *jsonb)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		*jsonb = DirectFunctionCall1(jsonb_in, CStringGetDatum(text));
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (error == NULL)
		return NULL;
	if (!is_fault_of_text(error))
		ReThrowError(error);
	return error->message;
}

/*
 * Return the UTF-16 code unit of the escape \uXXXX at the beginning of a text;
 * -1 if there is no such escape.
 */
static int
escaped_unit(const char *text)
{
	int			unit = 0;

	if (text[0] != '\\' || text[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++)
	{
		if (!isxdigit((unsigned char) text[i]))
			return -1;
		unit = unit * 16 + (isdigit((unsigned char) text[i]) ? text[i] - '0' :
							pg_tolower((unsigned char) text[i]) - 'a' + 10);
	}
	return unit;
}

/*
 * In a JSON text, replace \u0000 and each half of a surrogate pair, which
 * jsonb does not accept. The replacement is \ufffd. Returns whether something
 * was replaced.
 */
static bool
replace_escapes(char *text)
{
	bool		replaced = false;

	while ((text = strchr(text, '\\')) != NULL)
	{
		int			unit = escaped_unit(text);

		if (unit < 0)
			text += text[1] != '\0' ? 2 : 1;
		else if (is_utf16_surrogate_first(unit) &&
				 is_utf16_surrogate_second(Max(escaped_unit(text + 6), 0)))
			text += 12;
		else
		{
			if (unit == 0 || is_utf16_surrogate_first(unit) ||
				is_utf16_surrogate_second(unit))
			{
				memcpy(text + 2, "fffd", 4);
				replaced = true;
			}
			text += 6;
		}
	}
	return replaced;
}

/*
 * Return a text as a jsonb string, cut to KEPT_LENGTH bytes if it is longer
 * than MAX_TEXT_BYTES.
 */
static Datum
text_as_string(char *text)
{
	JsonbValue	string = {.type = jbvString};
	int			length = strlen(text);

	if (length > MAX_TEXT_BYTES)
		length = bytes_clip(text, length, KEPT_LENGTH);
	string.val.string.val = text;
	string.val.string.len = length;
	return JsonbPGetDatum(JsonbValueToJsonb(&string));
}

/*
 * Parse a text as jsonb, in the current memory context. Returns an error
 * message if the text is invalid; else NULL.
 *
 * For an invalid text, *jsonb is a value for the table of rejected items. If
 * replace_escapes() makes the text valid, this value is the resulting JSON.
 * Otherwise it is a JSON string that contains the text.
 */
const char *
source_json_parse(Datum json, Datum *jsonb)
{
	char	   *string = TextDatumGetCString(json);
	const char *why = try_parse(string, jsonb);

	if (why == NULL)
		return NULL;
	if (replace_escapes(string) && try_parse(string, jsonb) == NULL)
		return "has \\u0000 or half of a surrogate pair";
	*jsonb = text_as_string(TextDatumGetCString(json));
	return psprintf("is no JSON that can be stored: %s", why);
}
