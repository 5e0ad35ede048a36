/*
 * utf8_text.c
 *		Converts texts between the database's encoding and UTF-8.
 *
 * Uses only the conversions in pg_catalog, never one that a user has created.
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/utf8_text.h"

#include "catalog/pg_conversion.h"
#include "catalog/pg_namespace.h"
#include "mb/pg_wchar.h"

/*
 * The text that text_from_utf8() writes in place of a character that the
 * database's encoding does not have: U+001A and the code point in hexadecimal.
 * LACKING_LENGTH is the length of the written text in bytes.
 */
#define LACKING_FORMAT "\x1a%06x"
#define LACKING_LENGTH 7

bool
text_is_ascii(const char *text, int length)
{
	for (int i = 0; i < length; i++)
		if (IS_HIGHBIT_SET(text[i]))
			return false;
	return true;
}

/*
 * Return whether texts in the database's encoding can be converted to UTF-8.
 * Returns false for SQL_ASCII, whose bytes have no known meaning, and for
 * MULE_INTERNAL, for which the server has no conversion.
 */
bool
encoding_has_utf8(void)
{
	int			encoding = GetDatabaseEncoding();

	return encoding == PG_UTF8 ||
		(encoding != PG_SQL_ASCII &&
		 OidIsValid(FindDefaultConversion(PG_CATALOG_NAMESPACE, encoding, PG_UTF8)));
}

/*
 * Convert a text up to the first character that the target encoding does not
 * have. Returns how many bytes of the text were converted.
 *
 * converted: the buffer for the result.
 * room: the size of that buffer.
 */
static int
convert(Oid conversion, int from, int to, const char *text, int length,
		char *converted, int room)
{
	return pg_do_encoding_conversion_buf(conversion, from, to,
										 (unsigned char *) unconstify(char *, text),
										 length, (unsigned char *) converted,
										 room, true);
}

/*
 * Convert a text from the database's encoding to UTF-8. *text and *length
 * become the converted text, in the current memory context. A text that needs
 * no conversion stays unchanged. Returns false if the text cannot be
 * converted. An ASCII text can always be converted.
 */
bool
text_to_utf8(const char **text, int *length)
{
	int			encoding = GetDatabaseEncoding();
	int			room = *length * MAX_CONVERSION_GROWTH + 1;
	char	   *converted;
	Oid			conversion;

	if (encoding == PG_UTF8 || text_is_ascii(*text, *length))
		return true;
	if (!encoding_has_utf8())
		return false;
	conversion = FindDefaultConversion(PG_CATALOG_NAMESPACE, encoding, PG_UTF8);
	converted = palloc(room);
	if (convert(conversion, encoding, PG_UTF8, *text, *length, converted,
				room) < *length)
		return false;
	*text = converted;
	*length = strlen(converted);
	return true;
}

/*
 * Convert a text from UTF-8 to the database's encoding, for which
 * encoding_has_utf8() must be true. The result is in the current memory
 * context. A code point that the encoding does not have becomes U+001A
 * (SUBSTITUTE) and six hexadecimal digits. So different texts stay different.
 */
char *
text_from_utf8(const char *utf8, int length)
{
	int			encoding = GetDatabaseEncoding();
	int			room = length * Max(MAX_CONVERSION_GROWTH, LACKING_LENGTH) + 1;
	char	   *converted = palloc(room);
	char	   *to = converted;
	const char *end = utf8 + length;
	Oid			conversion;

	if (encoding == PG_UTF8 || text_is_ascii(utf8, length))
		return pnstrdup(utf8, length);
	conversion = FindDefaultConversion(PG_CATALOG_NAMESPACE, PG_UTF8, encoding);
	while (utf8 < end)
	{
		utf8 += convert(conversion, PG_UTF8, encoding, utf8, end - utf8, to,
						room - (to - converted));
		to += strlen(to);
		if (utf8 < end)
		{
			to += sprintf(to, LACKING_FORMAT,
						  utf8_to_unicode((const unsigned char *) utf8));
			utf8 += pg_encoding_mblen(PG_UTF8, utf8);
		}
	}
	return converted;
}
