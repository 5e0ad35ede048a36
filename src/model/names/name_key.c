/*
 * name_key.c
 *		The key by which usernames are compared.
 *
 * Two names are the same if their keys are equal. The key is Unicode's
 * toNFKC_Casefold, which is made for comparing identifiers:
 *
 *	1. Decompose the name canonically (NFD).
 *	2. Fold the case, remove default-ignorable code points, and apply NFKC.
 *	   Repeat this step until it changes nothing.
 *
 * Then each run of white space becomes one blank, and white space at both ends
 * is removed.
 *
 * Step 1 puts combining marks into canonical order. It must come before case
 * folding, which turns the mark U+0345 into a letter, because normalization
 * does not move marks past a letter.
 *
 * Case folding and the set of ignorable code points come from unicode_table.h.
 * The server computes NFKC. For the code points in unicode_table.h, all
 * supported server versions compute the same NFKC. The key depends neither on
 * the locale nor on ICU.
 *
 * If the database's encoding is not UTF-8, the name is converted to UTF-8, and
 * the key is converted back. If that is impossible, as for non-ASCII
 * characters in SQL_ASCII, only the ASCII letters of the name are folded.
 *
 * A username has at most 64 characters. In any encoding, the character with
 * the longest key is U+FDFA: its key has 18 code points in 33 bytes. A
 * username's key therefore has at most 2,112 bytes, and fits into an index
 * entry (2,704 bytes).
 *
 * A text longer than MAX_FOLDED_BYTES has no key. This bounds the memory for
 * computing a key: the longest array has 24 bytes for each byte of the text.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/utf8_text.h"
#include "model/names/code_points.h"
#include "model/names/names.h"

#include "access/detoast.h"
#include "common/unicode_norm.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

/*
 * ascii_key() represents a byte b that is not ASCII by the number BYTES_AT +
 * b, which is not a code point of Unicode.
 */
#define BYTES_AT 0x110000

#define MAX_KEY_BYTES 2112

static int
length_of(const pg_wchar *text)
{
	int			n = 0;

	while (text[n] != 0)
		n++;
	return n;
}

/*
 * Return a copy of a text with its case folded and without ignorable code
 * points.
 */
static pg_wchar *
fold(const pg_wchar *text)
{
	pg_wchar   *folded = palloc((length_of(text) * LONGEST_FOLDING + 1) *
								sizeof(pg_wchar));
	pg_wchar   *to = folded;

	for (; *text != 0; text++)
		if (!is_ignorable(*text))
			to += fold_case(*text, to);
	*to = 0;
	return folded;
}

static pg_wchar *
nfkc_casefold(const pg_wchar *text)
{
	pg_wchar   *key = unicode_normalize(UNICODE_NFD, text);

	for (;;)
	{
		pg_wchar   *next = unicode_normalize(UNICODE_NFKC, fold(key));
		int			n = length_of(next);

		if (n == length_of(key) && memcmp(key, next, n * sizeof(pg_wchar)) == 0)
			return key;
		key = next;
	}
}

/*
 * Replace each run of white space in a text by one blank, and remove white
 * space at both ends. A text of only white space and U+2800 (which looks like
 * a blank) becomes empty. Returns the new length.
 */
static int
squeeze(pg_wchar *text)
{
	pg_wchar   *to = text;
	bool		visible = false;

	for (const pg_wchar *c = text; *c != 0; c++)
	{
		if (!is_white_space(*c))
		{
			visible |= *c != BRAILLE_BLANK;
			*to++ = *c;
		}
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to > text && to[-1] == ' ')
		to--;
	if (!visible)
		to = text;
	*to = 0;
	return to - text;
}

/*
 * Return the key of a text that is ASCII, or that cannot be converted to
 * UTF-8. Only the ASCII letters of the text are folded.
 */
static Datum
ascii_key(const char *text, int length)
{
	pg_wchar   *wide = palloc((length + 1) * sizeof(pg_wchar));
	char	   *key = palloc(length + 1);

	for (int i = 0; i < length; i++)
		wide[i] = IS_HIGHBIT_SET(text[i]) ?
			BYTES_AT + (unsigned char) text[i] : pg_ascii_tolower(text[i]);
	wide[length] = 0;
	length = squeeze(wide);
	for (int i = 0; i < length; i++)
		key[i] = (char) (wide[i] & 0xff);
	return PointerGetDatum(cstring_to_text_with_len(key, length));
}

/*
 * Return whether a text is short enough to have a key. Does not detoast the
 * text.
 */
bool
has_name_key(Datum text)
{
	return toast_raw_datum_size(text) - VARHDRSZ <= MAX_FOLDED_BYTES;
}

/*
 * Return the key of a username, or of another text that is compared with
 * usernames. The key is a text in the database's encoding, to be compared byte
 * by byte. The key of a key is the key itself.
 *
 * The caller has checked has_name_key(). The function does not free the memory
 * that it allocates in the current memory context.
 */
Datum
name_key(Datum text)
{
	struct varlena *given = PG_DETOAST_DATUM_PACKED(text);
	const char *utf8 = VARDATA_ANY(given);
	int			length = VARSIZE_ANY_EXHDR(given);
	pg_wchar   *key;
	char	   *converted;

	Assert(length <= MAX_FOLDED_BYTES);
	if (text_is_ascii(utf8, length) || !text_to_utf8(&utf8, &length))
		return ascii_key(utf8, length);
	key = nfkc_casefold(code_points(utf8, length, &length));
	length = squeeze(key);
	converted = palloc(length * MAX_MULTIBYTE_CHAR_LEN + 1);
	length = pg_encoding_wchar2mb_with_len(PG_UTF8, key, converted, length);
	return PointerGetDatum(cstring_to_text(text_from_utf8(converted, length)));
}

/*
 * Return whether a key is at most as long as the longest key of a username,
 * and so fits into an index entry of blogstore.usernames.
 */
bool
name_key_fits(Datum key)
{
	return VARSIZE_ANY_EXHDR(DatumGetPointer(key)) <= MAX_KEY_BYTES;
}
