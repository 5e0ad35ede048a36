/*
 * other_name.c
 *		Bulk import: makes another name for a user who cannot get the name in
 *		the source.
 *
 * The name in the source may belong to another user, or may not be a valid
 * username. If the import rejected the user, it would also reject all of the
 * user's posts and comments. So the user gets another name, which is made from
 * the name in the source and the user's id. A repeated import makes the same
 * name, and so finds the user again.
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
 * the beginning of the name that other_name() makes, if the name in the source
 * has no character that a username may have
 */
#define NAMELESS "user"

/*
 * Return the beginning of a name, without blanks at its ends. It is cut so
 * that the suffix still fits into a valid username.
 */
static Datum
name_beginning(const char *name, int length)
{
	int			bytes = pg_mbcharcliplen(name, length, MAX_USERNAME_LENGTH - SUFFIX_LENGTH);

	return username_trim(PointerGetDatum(cstring_to_text_with_len(name, bytes)));
}

/*
 * Append a name to a buffer, with a blank in place of each character that a
 * username must not have.
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
 * Return another name for a user. The eight digits at its end are the XOR of
 * the four 32-bit words of the user's id. (The last word alone is the same in
 * all version 1 uuids from one machine.)
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
