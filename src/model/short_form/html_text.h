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

/* The kinds of tokens that html_text_next() returns. */
typedef enum HtmlToken
{
	HTML_END,					/* the end of the source */
	HTML_TEXT,					/* text from the source, which may contain
								 * white space */
	HTML_REFERENCE,				/* the characters that a character reference
								 * stands for */
	HTML_SPACE					/* white space from a character reference, or a
								 * tag that separates words */
} HtmlToken;

/*
 * HTML that is being read. The caller sets at, end and cut, and all other
 * members to zero.
 */
typedef struct HtmlText
{
	const char *at;				/* the next byte of the source to read */
	const char *end;			/* behind the last byte of the source */
	bool		cut;			/* is the source only the beginning of a longer
								 * value? */
	const char *text;			/* the text of an HTML_TEXT, or the characters
								 * of an HTML_REFERENCE, in UTF-8 */
	size_t		bytes;			/* the length of text */
	char		character[4];	/* where text points to for a numeric
								 * reference */
	const char *next_open;		/* position of the next "<"; NULL: not searched
								 * yet */
	const char *next_ampersand; /* position of the next "&"; NULL: not searched
								 * yet */
} HtmlText;

/*
 * Return whether a byte of text is an ASCII control character or a blank.
 * Excerpts treat these as white space.
 */
static inline bool
html_is_blank(char c)
{
	return (unsigned char) c <= ' ' || c == 0x7F;
}

extern HtmlToken html_text_next(HtmlText *html);

#endif							/* BLOGSTORE_HTML_TEXT_H */
