/*
 * html_text.h
 *		Extracting the text from HTML.
 *
 * This tokenizer does not depend on PostgreSQL.
 */
#ifndef BLOGSTORE_HTML_TEXT_H
#define BLOGSTORE_HTML_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum HtmlToken
{
	HTML_END,
	HTML_TEXT,					/* text from the source, including white
								 * space */
	HTML_REFERENCE,				/* what a character reference such as &amp;
								 * stands for, unless it is white space */
	HTML_SPACE					/* white space from a character reference, or a
								 * tag that separates words */
} HtmlToken;

/*
 * State of reading an HTML source. The caller sets the fields "at", "end" and
 * "cut", and initializes all other fields to zero.
 */
typedef struct HtmlText
{
	const char *at;				/* the position of the next byte to read */
	const char *end;			/* the position after the last byte of the
								 * source */
	bool		cut;			/* whether the source is only the beginning of
								 * a longer value */
	const char *text;			/* the text of the last token: a part of the
								 * source for HTML_TEXT, UTF-8 for
								 * HTML_REFERENCE */
	size_t		bytes;
	char		character[4];	/* the character of the last numeric reference;
								 * "text" then points to this array */
	const char *next_open;		/* position of the next "<"; NULL: not searched
								 * yet */
	const char *next_ampersand; /* position of the next "&"; NULL: not searched
								 * yet */
} HtmlText;

/*
 * Return whether a byte is an ASCII control character or a blank. Excerpts
 * treat both as white space.
 */
static inline bool
html_is_blank(char c)
{
	return (unsigned char) c <= ' ' || c == 0x7F;
}

extern HtmlToken html_text_next(HtmlText *html);

#endif							/* BLOGSTORE_HTML_TEXT_H */
