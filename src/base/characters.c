/*
 * characters.c
 *		Measures and cuts texts by whole characters.
 *
 * Texts are in the database's encoding. A database with encoding SQL_ASCII
 * accepts any bytes and returns them unchanged. But most clients send and
 * expect UTF-8, and fail on an incomplete character. So in such a database a
 * valid UTF-8 sequence counts as one character. A byte outside of such
 * sequences also counts as one character.
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

/*
 * Return the maximal length in bytes of a character in the database's
 * encoding.
 */
int
character_longest(void)
{
	return is_ascii_database() ? pg_encoding_max_length(PG_UTF8) :
		pg_database_encoding_max_length();
}

/*
 * Return the length in bytes of the character that begins at "text". "end" is
 * the end of the whole text. If the text ends in the middle of this character,
 * the result may exceed end - text.
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
 * Return how many bytes the first "characters" characters of a text have. If
 * the text has fewer, return "bytes", which is the length of the text.
 */
int
characters_clip(const char *text, int bytes, int characters)
{
	const char *at = text;
	const char *end = text + bytes;

	/*
	 * In every encoding of a database, an ASCII character is one byte. Passing
	 * ASCII characters here saves a tenth of the instructions that a list of
	 * short forms takes.
	 */
	for (; at < end && characters > 0 && !IS_HIGHBIT_SET(*at); characters--)
		at++;
	if (!is_ascii_database())
		return at - text + pg_mbcharcliplen(at, end - at, characters);
	while (at < end && characters-- > 0)
		at += character_bytes(at, end);
	return at - text;
}

/*
 * Return the greatest number of bytes, at most "limit", after which a text can
 * be cut without splitting a character. The text itself may end in the middle
 * of a character.
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
	/* cut before a character that begins before "limit" and ends after it */
	if (first >= 0 && (unsigned char) text[first] >= 0xC2 &&
		pg_encoding_mblen(PG_UTF8, text + first) > limit - first)
		return first;
	return limit;
}

/*
 * Copy a message, with a terminating zero byte, into a buffer of "size" bytes.
 * A message that is too long for the buffer is cut after a whole character.
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
