/*
 * username.c
 *		What may be a username.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"

#include "mb/pg_wchar.h"

/*
 * Are so many bytes few enough for a username, whatever its characters? It is
 * asked before the text is detoasted, or its characters are looked at.
 */
bool
username_fits(int64 bytes)
{
	return bytes <= MAX_USERNAME_LENGTH * pg_database_encoding_max_length();
}

/* Unicode's White_Space, and ASCII's for other encodings. */
static bool
is_space(pg_wchar c)
{
	return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 ||
		c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
		c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/*
 * Control characters (Cc), line and paragraph separators, and the controls of
 * writing direction, with which one name can be made to look like another.
 */
static bool
is_control(pg_wchar c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 ||
		c == 0x2029 || c == 0x200e || c == 0x200f || c == 0x061c ||
		(c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* What keeps a text from being a username; NULL: nothing. */
const char *
username_problem(Datum username)
{
	const char *data = VARDATA_ANY(DatumGetPointer(username));
	int			bytes = VARSIZE_ANY_EXHDR(DatumGetPointer(username));
	pg_wchar   *wide;
	int			length;

	if (bytes == 0)
		return "must not be empty";
	wide = palloc((bytes + 1) * sizeof(pg_wchar));
	length = pg_mb2wchar_with_len(data, wide, bytes);
	if (length > MAX_USERNAME_LENGTH)
		return "is too long";
	for (int i = 0; i < length; i++)
	{
		pg_wchar	c = wide[i];

		/* other multibyte encodings share only ASCII with Unicode */
		if (GetDatabaseEncoding() != PG_UTF8 && c > 0x7f)
			continue;
		if (is_control(c))
			return "must not contain control characters";
		if ((i == 0 || i == length - 1) && is_space(c))
			return "must not begin or end with a space";
	}
	pfree(wide);
	return NULL;
}
