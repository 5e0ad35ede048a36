/*
 * html_text.h
 *		Extracting the text from HTML. This tokenizer does not depend on
 *		PostgreSQL.
 */
#ifndef BLOGSTORE_HTML_TEXT_H
#define BLOGSTORE_HTML_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What html_text_next() has found. */
typedef enum HtmlToken
{
	HTML_END,					/* nothing more */
	HTML_TEXT,					/* bytes of the source, which may include white
								 * space */
	HTML_REFERENCE,				/* characters that a reference stands for */
	HTML_SPACE					/* a reference to white space, or a tag that
								 * separates words */
} HtmlToken;

/*
 * A source that is being read. The caller sets at, end and cut, and all other
 * members to zero.
 */
typedef struct HtmlText
{
	const char *at;				/* the next byte to read */
	const char *end;			/* after the last byte */
	bool		cut;			/* does the source continue after end? */
	const char *text;			/* for HTML_TEXT and HTML_REFERENCE: the
								 * bytes, */
	size_t		bytes;			/* and their number; a reference is in UTF-8 */
	char		character[4];	/* the character of a numeric reference */
	const char *next_open;		/* the next "<", or NULL if unknown */
	const char *next_ampersand; /* the next "&", or NULL if unknown */
} HtmlText;

/*
 * Return whether a byte of text is white space. Control characters count as
 * such.
 */
static inline bool
html_is_blank(char c)
{
	return (unsigned char) c <= ' ' || c == 0x7F;
}

extern HtmlToken html_text_next(HtmlText *html);

#endif							/* BLOGSTORE_HTML_TEXT_H */
