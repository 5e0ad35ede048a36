/*
 * characters.c
 *		Cuts texts between two characters of the database's encoding.
 *
 * A database with encoding SQL_ASCII accepts any bytes and returns them
 * unchanged. Most clients send and expect UTF-8, and fail on an incomplete
 * character. So in such a database, a valid UTF-8 sequence counts as a
 * character, and so does any other byte.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/characters.h"

#include "mb/pg_wchar.h"

static bool
is_ascii_database(void)
{
	return GetDatabaseEncoding() == PG_SQL_ASCII;
}

/* Return the maximal length of a character in bytes. */
int
character_longest(void)
{
	return is_ascii_database() ? pg_encoding_max_length(PG_UTF8) :
		pg_database_encoding_max_length();
}

/*
 * Return the length in bytes of the character at text. In a multibyte encoding
 * it may exceed end - text, if the text is cut.
 */
int
character_bytes(const char *text, const char *end)
{
	int			length;

	if (!is_ascii_database())
		return pg_encoding_mblen(GetDatabaseEncoding(), text);
	length = pg_encoding_mblen(PG_UTF8, text);
	return length <= end - text &&
		pg_utf8_islegal((const unsigned char *) text, length) ? length : 1;
}

/*
 * Return the length in bytes of the first characters of a text. characters:
 * how many.
 */
int
characters_clip(const char *text, int bytes, int characters)
{
	const char *at = text;

	if (!is_ascii_database())
		return pg_mbcharcliplen(text, bytes, characters);
	while (at < text + bytes && characters-- > 0)
		at += character_bytes(at, text + bytes);
	return at - text;
}

/*
 * Return the length of a text that must not be longer than limit, cut to whole
 * characters. The text may itself be the beginning of a longer one, so that it
 * may end within a character.
 */
int
bytes_clip(const char *text, int bytes, int limit)
{
	int			first;

	if (!is_ascii_database())
		return pg_mbcliplen(text, bytes, limit);
	if (bytes < limit)
		return bytes;
	for (first = limit - 1; first > 0 && limit - first < 4 &&
		 ((unsigned char) text[first] & 0xC0) == 0x80; first--)
		;
	/* does a character begin before the limit and end after it? */
	if (first >= 0 && (unsigned char) text[first] >= 0xC2 &&
		pg_encoding_mblen(PG_UTF8, text + first) > limit - first)
		return first;
	return limit;
}

/*
 * Copy a message to a buffer of size bytes, cutting it to whole characters and
 * terminating it.
 */
void
message_copy(char *to, const char *message, size_t size)
{
	size_t		bytes = strlen(message);

	if (bytes >= size)
		bytes = bytes_clip(message, bytes, size - 1);
	memcpy(to, message, bytes);
	to[bytes] = '\0';
}
