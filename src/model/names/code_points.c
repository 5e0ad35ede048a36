/*
 * code_points.c
 *		Unicode code points: their properties, and case folding.
 *
 * The properties come from unicode_table.h. Runs in backends and parallel
 * workers.
 */
#include "postgres.h"

#include "model/names/code_points.h"
#include "model/names/unicode_table.h"

StaticAssertDecl(lengthof(((Folding *) NULL)->to) == LONGEST_FOLDING,
				 "LONGEST_FOLDING is not that of the table");

#define IS_IN(ranges, c) is_in(ranges, lengthof(ranges), c)

static bool
is_in(const CodePoints *ranges, int n, pg_wchar c)
{
	int			low = 0;

	while (low < n)
	{
		int			middle = (low + n) / 2;

		if (c < ranges[middle].first)
			n = middle;
		else if (c > ranges[middle].last)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

/*
 * Return whether Unicode, in the version UNICODE_OF_NAMES, assigns a character
 * to the code point.
 */
bool
is_assigned(pg_wchar c)
{
	return IS_IN(assigned, c);
}

/*
 * Return whether a code point is invisible, by its Unicode property
 * Default_Ignorable_Code_Point.
 */
bool
is_ignorable(pg_wchar c)
{
	return IS_IN(ignorable, c);
}

/*
 * Return whether a code point is white space, by its Unicode property
 * White_Space.
 */
bool
is_white_space(pg_wchar c)
{
	return IS_IN(white_space, c);
}

/*
 * Return whether a code point is a control character (category Cc). All
 * versions of Unicode have the same control characters.
 */
bool
is_control(pg_wchar c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f);
}

/*
 * Return whether a code point separates lines or paragraphs (categories Zl and
 * Zp).
 */
bool
is_separator(pg_wchar c)
{
	return c == 0x2028 || c == 0x2029;
}

/*
 * Return whether a code point overrides, embeds or isolates a writing
 * direction. Such code points can make one name look like another. The
 * directional marks U+061C, U+200E and U+200F are allowed, because names in
 * Hebrew and Arabic use them.
 */
bool
is_override(pg_wchar c)
{
	return IS_IN(bidi_control, c) && c != 0x061c && c != 0x200e && c != 0x200f;
}

/*
 * Write the case folding of a code point to *to, which has room for
 * LONGEST_FOLDING code points. Returns the number of code points written.
 */
int
fold_case(pg_wchar c, pg_wchar *to)
{
	int			low = 0;
	int			high = lengthof(folding);
	int			n = 0;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (c < folding[middle].from)
			high = middle;
		else if (c > folding[middle].from)
			low = middle + 1;
		else
		{
			while (n < LONGEST_FOLDING && folding[middle].to[n] != 0)
			{
				to[n] = folding[middle].to[n];
				n++;
			}
			return n;
		}
	}
	*to = c;
	return 1;
}

/*
 * Return the code points of a UTF-8 text as an array that ends with a zero.
 * Sets *n to the number of code points.
 */
pg_wchar *
code_points(const char *utf8, int length, int *n)
{
	pg_wchar   *points = palloc((length + 1) * sizeof(pg_wchar));

	*n = pg_encoding_mb2wchar_with_len(PG_UTF8, utf8, points, length);
	return points;
}
