/*
 * characters.c
 *		Where a text may be cut: between two characters of the database's encoding.
 *
 * A database of the encoding SQL_ASCII holds whatever bytes it is given, and hands them out as
 * they are. Most clients send and expect UTF-8, and fail at a part of a character. So there a
 * character is what is one in UTF-8; every other byte is one by itself.
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

/* How many bytes a character has at most. */
int
character_longest(void)
{
	return is_ascii_database() ? pg_encoding_max_length(PG_UTF8) :
		pg_database_encoding_max_length();
}

/* How many bytes the character has that begins at text; maybe more than there are before end. */
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

/* How many bytes the first so many characters of a text have. */
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
 * How many bytes of a text are whole characters, if it has to end at a limit, behind which the text
 * that it is a part of may go on.
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
	/* a character that begins before the limit, and ends behind it? */
	if (first >= 0 && (unsigned char) text[first] >= 0xC2 &&
		pg_encoding_mblen(PG_UTF8, text + first) > limit - first)
		return first;
	return limit;
}

/* Copy a message to where so many bytes are for it, its end included, as much of it as fits. */
void
message_copy(char *to, const char *message, size_t size)
{
	size_t		bytes = strlen(message);

	if (bytes >= size)
		bytes = bytes_clip(message, bytes, size - 1);
	memcpy(to, message, bytes);
	to[bytes] = '\0';
}
