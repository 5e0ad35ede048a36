/*
 * other_name.c
 *		Bulk import: makes a name for a user who cannot have the name that
 *		the source gives.
 *
 * Another user has that name, or it is not a valid username. If the import
 * rejected such a user, it would also have to reject the user's posts and
 * comments. So the user gets another name, derived from the source's. The same
 * user always gets the same name, so a repeated import finds the user.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "import/sources/sources.h"
#include "model/user_changes/user_changes.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

/*
 * Appended to the source's name: 8 hexadecimal digits made from the user's id.
 */
#define SUFFIX " (%02x%02x%02x%02x)"
#define SUFFIX_LENGTH 11

/* Used in place of a source's name that has no usable character. */
#define NAMELESS "user"

/*
 * Return the beginning of a name, so short that the suffix can be added, and
 * without blanks at its ends.
 */
static Datum
name_beginning(const char *name, int length)
{
	int			bytes = pg_mbcharcliplen(name, length, MAX_USERNAME_LENGTH - SUFFIX_LENGTH);

	return username_trim(PointerGetDatum(cstring_to_text_with_len(name, bytes)));
}

/*
 * Append a name to a buffer, with a blank for each character that a username
 * must not have.
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
 * Return the name that a user gets instead of the source's. The digits of the
 * suffix are the XOR of the four 32-bit words of the user's id. The last word
 * alone would be the same in all version 1 uuids from one machine.
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
