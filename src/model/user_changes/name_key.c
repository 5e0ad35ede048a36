/*
 * name_key.c
 *		The key by which names are compared.
 *
 * It is Unicode's toNFKC_Casefold, by which identifiers are compared: canonical
 * decomposition, then case folding, removal of default-ignorable code points, and NFKC, until
 * nothing changes. Then each run of white space becomes one blank, and none is left at the
 * ends. Folding and removal go by unicode_table.h. NFKC is the server's function, which treats
 * the code points of that table alike in all versions. So the key depends neither on the
 * locale nor on ICU.
 *
 * The decomposition comes first because it puts marks into their canonical order. Case folding
 * makes a letter of the mark U+0345, over which other marks could no longer be moved.
 *
 * Texts of other encodings are converted to UTF-8 for the key, and the key is converted back.
 * Of a text that cannot be converted, such as one in SQL_ASCII that is not ASCII, ASCII alone
 * is folded.
 *
 * Bounds: no code point has a longer key than U+FDFA, 18 code points in 33 bytes. So the
 * key of a username, which has at most 64 characters, has at most 2,112 bytes, and an index
 * entry can hold it (2,704 bytes). In no other encoding has a character a longer one. Only
 * texts of at most MAX_FOLDED_BYTES are folded. The longest array on the way has 24 bytes for
 * each byte of the text.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/utf8_text.h"
#include "model/user_changes/code_points.h"
#include "model/user_changes/user_changes.h"

#include "access/detoast.h"
#include "common/unicode_norm.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

/* Where ascii_key() keeps bytes that are not ASCII: no code point is there. */
#define BYTES_AT 0x110000

/* The longest key of a username, in bytes. */
#define MAX_KEY_BYTES 2112

static int
length_of(const pg_wchar *text)
{
	int			n = 0;

	while (text[n] != 0)
		n++;
	return n;
}

/* Fold case, and remove what is ignorable. */
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

/* Return Unicode's toNFKC_Casefold of a text. */
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
 * Make one blank of each run of white space, and leave none at the ends. A text that has
 * nothing else, or besides only U+2800, becomes empty. Returns the length.
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

/* The key of a text of which ASCII alone is folded. */
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

/* Return whether a text, which is not detoasted for that, is short enough to have a key. */
bool
has_name_key(Datum text)
{
	return toast_raw_datum_size(text) - VARHDRSZ <= MAX_FOLDED_BYTES;
}

/*
 * Make the key of a name, or of another text that is compared as names are. The text is one
 * that has_name_key(). Returns a text in the database's encoding, to be compared byte by byte.
 * The key of a key is that key. The memory that it takes is left in the current memory context.
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

/* Return whether a key is no longer than that of a username, so that an index entry holds it. */
bool
name_key_fits(Datum key)
{
	return VARSIZE_ANY_EXHDR(DatumGetPointer(key)) <= MAX_KEY_BYTES;
}
