/*
 * html_text.h
 *		The text in HTML: a small tokenizer, which knows nothing of PostgreSQL.
 */
#ifndef BLOGSTORE_HTML_TEXT_H
#define BLOGSTORE_HTML_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What html_text_next() has found. */
typedef enum HtmlToken
{
	HTML_END,					/* there is no more */
	HTML_TEXT,					/* bytes of the source, with the white space among them */
	HTML_REFERENCE,				/* characters that were written as a reference */
	HTML_SPACE					/* white space so written, or a tag that parts words */
} HtmlToken;

/* A source that is being read. The caller sets the first three, and all else to zero. */
typedef struct HtmlText
{
	const char *at;				/* what comes next */
	const char *end;			/* behind the last byte */
	bool		cut;			/* does the source go on there? */
	const char *text;			/* of HTML_TEXT and HTML_REFERENCE: where the bytes are, */
	size_t		bytes;			/* and how many; those of a reference are UTF-8 */
	char		character[4];	/* one that was written as a number */
	const char *next_open;		/* where the next "<" is, and the next "&"; NULL: not */
	const char *next_ampersand; /* known */
} HtmlText;

/* White space in text, where controls are of no other use. */
static inline bool
html_is_blank(char c)
{
	return (unsigned char) c <= ' ' || c == 0x7F;
}

extern HtmlToken html_text_next(HtmlText *html);

#endif							/* BLOGSTORE_HTML_TEXT_H */
