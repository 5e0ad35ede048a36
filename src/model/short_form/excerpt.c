/*
 * excerpt.c
 *		Excerpts: the beginning of the text in an HTML value, without its tags.
 *
 * Only a slice at the beginning of an HTML value is read. If the slice
 * contains too little text, a slice of four times the length is read, and so
 * on.
 *
 * No slice is longer than MOST_BYTES, because an attribute of a tag can
 * contain a whole video. Without this limit, each refresh of a post's copy
 * would read the video.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/characters.h"
#include "base/compat.h"
#include "model/short_form/excerpt.h"
#include "model/short_form/html_text.h"

#include "access/detoast.h"
#include "catalog/pg_conversion.h"
#include "catalog/pg_namespace.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/*
 * The length of the first slice of an HTML value, and the length of the
 * longest slice, in bytes. The argument is the number of characters of the
 * excerpt.
 */
#define FIRST_BYTES(characters) ((int64) (characters) * 4 + 1024)
#define MOST_BYTES(characters) \
	Min((int64) (characters) * 16 + 1024 * 1024, MaxAllocSize / 2)

typedef struct Excerpt
{
	StringInfoData text;
	int			left;
	bool		space;			/* whether to add a blank before the next
								 * character, because white space was read */
} Excerpt;

/*
 * Add text in the database's encoding to an excerpt, as much as fits. Each run
 * of white space becomes one blank. If the last character of the text is
 * incomplete, it is left out.
 */
static void
add_text(Excerpt *excerpt, const char *source, int bytes)
{
	StringInfo	text = &excerpt->text;
	const char *end = source + bytes;
	int			left = excerpt->left;
	char	   *out;

	/*
	 * The output needs at most one byte more than the source, for a blank at
	 * its beginning.
	 */
	enlargeStringInfo(text, Min(bytes, (int64) left *
								character_longest()) + 1);
	out = text->data + text->len;
	while (source < end && left > 0)
	{
		int			length = 0;

		if (html_is_blank(*source))
		{
			excerpt->space = true;
			source++;
			continue;
		}
		if (IS_HIGHBIT_SET(*source))
		{
			length = character_bytes(source, end);
			if (length > end - source)
				break;
		}
		if (excerpt->space && out > text->data)
		{
			*out++ = ' ';
			left--;
		}
		excerpt->space = false;
		if (left > 0 && length > 0)
		{
			left--;
			while (length-- > 0)
				*out++ = *source++;
		}
		while (left > 0 && source < end && (unsigned char) *source > ' ' &&
			   (unsigned char) *source < 0x7F)
		{
			left--;
			*out++ = *source++;
		}
	}
	*out = '\0';
	text->len = out - text->data;
	excerpt->left = left;
}

/*
 * Return an ASCII replacement for a character that the database's encoding
 * lacks: for common punctuation a similar character, otherwise "?".
 */
static const char *
plain_character(pg_wchar character)
{
	switch (character)
	{
		case 0x2018:
		case 0x2019:
		case 0x201A:
			return "'";
		case 0x201C:
		case 0x201D:
		case 0x201E:
			return "\"";
		case 0x2010:
		case 0x2011:
		case 0x2012:
		case 0x2013:
		case 0x2014:
		case 0x2212:
			return "-";
		case 0x2022:
			return "*";
		case 0x2026:
			return "...";
		case 0x00AD:
		case 0x200B:
		case 0x200C:
		case 0x200D:
		case 0x200E:
		case 0x200F:
			return "";
	}
	return (character >= 0x2000 && character <= 0x200A) || character == 0x202F ?
		" " : "?";
}

/*
 * Convert a UTF-8 character to the database's encoding, and add the result to
 * an excerpt. If the character cannot be converted, add a replacement.
 */
static void
add_utf8(Excerpt *excerpt, const char *utf8, int length)
{
	static Oid	conversion = InvalidOid;
	int			encoding = GetDatabaseEncoding();
	unsigned char other[MAX_CONVERSION_GROWTH * MAX_MULTIBYTE_CHAR_LEN + 1];
	const char *plain;

	if (encoding == PG_UTF8 || !IS_HIGHBIT_SET(*utf8))
	{
		add_text(excerpt, utf8, length);
		return;
	}
	/*
	 * Use the conversion in pg_catalog, so that the result does not depend on
	 * the caller's search_path.
	 */
	if (!OidIsValid(conversion) && encoding != PG_SQL_ASCII)
		conversion = FindDefaultConversion(PG_CATALOG_NAMESPACE, PG_UTF8, encoding);
	if (OidIsValid(conversion) &&
		pg_do_encoding_conversion_buf(conversion, PG_UTF8, encoding,
									  (unsigned char *) unconstify(char *, utf8),
									  length, other, sizeof(other), true) == length)
	{
		add_text(excerpt, (char *) other, strlen((char *) other));
		return;
	}
	plain = plain_character(utf8_to_unicode((const unsigned char *) utf8));
	add_text(excerpt, plain, strlen(plain));
}

static void
add_reference(Excerpt *excerpt, const char *utf8, int bytes)
{
	while (bytes > 0)
	{
		int			length = pg_encoding_mblen(PG_UTF8, utf8);

		add_utf8(excerpt, utf8, length);
		utf8 += length;
		bytes -= length;
	}
}

/*
 * Add the text of an HTML source to an excerpt, until the excerpt is full.
 * Returns false if the excerpt is not full at the end of the source.
 *
 * cut: whether the source is only the beginning of the HTML value.
 */
static bool
read_html(Excerpt *excerpt, const char *source, int bytes, bool cut)
{
	HtmlText	html = {.at = source, .end = source + bytes, .cut = cut};
	HtmlToken	token;

	while (excerpt->left > 0)
	{
		token = html_text_next(&html);
		if (token == HTML_END)
			return false;
		if (token == HTML_SPACE)
			excerpt->space = true;
		else if (token == HTML_REFERENCE)
			add_reference(excerpt, html.text, html.bytes);
		else
			add_text(excerpt, html.text, html.bytes);
	}
	return true;
}

/*
 * Return the beginning of the text in an HTML value, with at most the given
 * number of characters. Runs of white space become single blanks; white space
 * at both ends is removed. The excerpt is the same whether or not the value is
 * compressed or stored out of line. It is allocated in the current memory
 * context.
 */
text *
excerpt_of_html(Datum html, int characters)
{
	int64		bytes = toast_raw_datum_size(html) - VARHDRSZ;
	int64		most = Min(bytes, MOST_BYTES(characters));
	bool		full = false;
	Excerpt		excerpt;
	text	   *result;

	initStringInfo(&excerpt.text);
	for (int64 wanted = FIRST_BYTES(characters); !full; wanted *= 4)
	{
		struct varlena *slice;
		int			length;

		wanted = Min(wanted, most);
		slice = PG_DETOAST_DATUM_SLICE(html, 0, (int32) wanted);
		resetStringInfo(&excerpt.text);
		excerpt.left = characters;
		excerpt.space = false;
		length = VARSIZE_ANY_EXHDR(slice);
		if (wanted < bytes)
			length = bytes_clip(VARDATA_ANY(slice), length, length);
		full = read_html(&excerpt, VARDATA_ANY(slice), length, wanted < bytes) ||
			wanted == most;
		pfree(slice);
	}
	if (excerpt.text.len > 0 && excerpt.text.data[excerpt.text.len - 1] == ' ')
		excerpt.text.len--;
	result = cstring_to_text_with_len(excerpt.text.data, excerpt.text.len);
	pfree(excerpt.text.data);
	return result;
}
