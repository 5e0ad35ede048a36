/*
 * other_name.c
 *		Bulk import: makes another name for a user who cannot get the name in
 *		the source.
 *
 * The name in the source may be taken by another user, or may not be a valid
 * username. If the import rejected the user, it would also reject the user's
 * posts and comments. So the user gets a name that is made from the name in
 * the source and the user's id. A second import makes the same name, and finds
 * the existing user.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "import/sources/sources.h"
#include "model/user_changes/user_changes.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

/* the end of the name that other_name() makes: 8 digits from the user's id */
#define SUFFIX " (%02x%02x%02x%02x)"
#define SUFFIX_LENGTH 11

/*
 * what other_name() puts before the suffix if the source's name has no valid
 * character
 */
#define NAMELESS "user"

/*
 * Return the beginning of a name, without blanks at its ends. It is short
 * enough for a valid username with the suffix.
 */
static Datum
name_beginning(const char *name, int length)
{
	int			bytes = pg_mbcharcliplen(name, length, MAX_USERNAME_LENGTH - SUFFIX_LENGTH);

	return username_trim(PointerGetDatum(cstring_to_text_with_len(name, bytes)));
}

/*
 * Append a name to a buffer. Blanks replace characters that are not valid in a
 * username.
 */
static void
replace_refused(const char *name, int length, StringInfo out)
{
	const char *end = name + length;

	while (name < end)
	{
		int			bytes = Min(pg_mblen(name), end - name);
		char	   *beside = psprintf("x%.*s", bytes, name);

		if (is_username(CStringGetTextDatum(beside)))
			appendBinaryStringInfo(out, name, bytes);
		else
			appendStringInfoChar(out, ' ');
		name += bytes;
	}
}

/*
 * Return another name for a user. It ends with the XOR of the four 32-bit
 * words of the user's id. A single word would not do: all version 1 uuids from
 * one machine have the same last word.
 *
 * given: the user's name in the source
 */
Datum
other_name(Datum given, const pg_uuid_t *user_id)
{
	text	   *name = DatumGetTextPP(given);
	Datum		beginning = name_beginning(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	unsigned char digits[4] = {0};
	const char *kept = NAMELESS;

	if (!is_username(beginning))
	{
		StringInfoData clean;

		initStringInfo(&clean);
		replace_refused(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), &clean);
		beginning = name_beginning(clean.data, clean.len);
	}
	if (is_username(beginning))
		kept = TextDatumGetCString(beginning);
	for (int i = 0; i < UUID_LEN; i++)
		digits[i % 4] ^= user_id->data[i];
	return CStringGetTextDatum(psprintf("%s" SUFFIX, kept, digits[0], digits[1],
										digits[2], digits[3]));
}
