/*
 * html_plain.c
 *		Is HTML its own text already? Most posts of sites that know no HTML are.
 *
 * Eight bytes at a time, as one number: what is asked of each byte is asked of all at
 * once (the server's port/pg_lfind.h does alike where the processor can do more).
 */
#include "short_form/html_text.h"

#include <string.h>

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Is any byte zero? */
static bool
any_zero(uint64_t bytes)
{
	return ((bytes - EACH(1)) & ~bytes & EACH(0x80)) != 0;
}

/* Is any byte less than a blank? */
static bool
any_control(uint64_t bytes)
{
	return ((bytes - EACH(' ')) & ~bytes & EACH(0x80)) != 0;
}

/*
 * Are these bytes the text that they stand for, but for one blank that may be at their
 * end? Then there is no markup and no reference among them, and no white space but
 * single blanks, of which none comes first.
 */
bool
html_is_plain(const char *html, size_t bytes)
{
	char		last[2 * sizeof(uint64_t)];
	uint64_t	here;
	uint64_t	next;

	if (bytes > 0 && html[0] == ' ')
		return false;
	while (bytes > 0)
	{
		if (bytes <= sizeof(here))
		{
			/* filled up with what is plain in any place */
			memset(last, 'x', sizeof(last));
			memcpy(last, html, bytes);
			html = last;
			bytes = sizeof(here);
		}
		memcpy(&here, html, sizeof(here));
		memcpy(&next, html + 1, sizeof(next));
		if (any_control(here) || any_zero(here ^ EACH('<')) ||
			any_zero(here ^ EACH('&')) || any_zero(here ^ EACH(0x7F)) ||
			any_zero((here ^ EACH(' ')) | (next ^ EACH(' '))))
			return false;
		html += sizeof(here);
		bytes -= sizeof(here);
	}
	return true;
}
