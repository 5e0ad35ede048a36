/*
 * driver.c
 *		Runs src/model/short_form/html_text.c on documents, for test/html_text.
 *
 * For each document, reads its length (uint32_t) and its bytes from stdin, and
 * writes the length and bytes of its text. Runs of white space become one
 * blank, and white space at the ends is left out. Each document is in memory
 * of its exact size, so that a sanitizer sees a read past its end.
 *
 * The exit status is 1 if the text of a document that is cut is not the
 * beginning of the whole document's text, or if reading takes more steps than
 * the length allows.
 */
#include "model/short_form/html_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Basic blocks that have been run, and bytes that have been looked through. */
static uint64_t steps;

/* The compiler has each basic block of the tokenizer call this. */
void		__sanitizer_cov_trace_pc(void);

void
__sanitizer_cov_trace_pc(void)
{
	steps++;
}

/* The linker has the tokenizer call this instead of memchr(). */
void	   *__wrap_memchr(const void *from, int c, size_t n);

void *
__wrap_memchr(const void *from, int c, size_t n)
{
	const unsigned char *at = from;

	for (size_t i = 0; i < n; i++)
	{
		if (i % 8 == 0)
			steps++;
		if (at[i] == (unsigned char) c)
			return (void *) (at + i);
	}
	return NULL;
}

static void
fail(const char *what, const char *source, size_t bytes)
{
	fprintf(stderr, "%s: %.*s\n", what, (int) (bytes > 400 ? 400 : bytes),
			source);
	exit(1);
}

/* The text in a source, in memory that the caller frees. */
static char *
read_text(const char *source, size_t bytes, bool cut, size_t *length)
{
	char	   *copy = malloc(bytes);
	char	   *text = NULL;
	size_t		room = 0;
	bool		space = false;
	HtmlText	html = {.at = copy, .end = copy + bytes, .cut = cut};
	HtmlToken	token;

	if (bytes > 0)
		memcpy(copy, source, bytes);
	*length = 0;
	while ((token = html_text_next(&html)) != HTML_END)
	{
		if (token == HTML_SPACE)
		{
			space = true;
			continue;
		}
		if (html.bytes == 0)
			fail("an empty token", source, bytes);
		while (*length + html.bytes + 1 > room)
		{
			room = room * 2 + html.bytes + 64;
			text = realloc(text, room);
		}
		for (size_t i = 0; i < html.bytes; i++)
		{
			if (html_is_blank(html.text[i]))
			{
				space = true;
				continue;
			}
			if (space && *length > 0)
				text[(*length)++] = ' ';
			space = false;
			text[(*length)++] = html.text[i];
		}
	}
	free(copy);
	return text;
}

static void
check_cut(const char *source, size_t bytes, size_t at, const char *whole,
		  size_t length)
{
	size_t		cut_length;
	char	   *cut = read_text(source, at, true, &cut_length);

	if (cut_length > length || (cut_length > 0 && memcmp(cut, whole, cut_length) != 0))
		fail("cut, it gives another text", source, bytes);
	free(cut);
}

/* Read a document whole, and cut at some places. */
static char *
check_document(const char *source, size_t bytes, size_t *length)
{
	uint64_t	random = bytes;
	char	   *text;

	steps = 0;
	text = read_text(source, bytes, false, length);
	if (steps > 1000 * (uint64_t) bytes + 1000)
		fail("it takes too many steps", source, bytes);
	for (size_t i = 0; i <= bytes && i < 64; i++)
	{
		size_t		at = i;

		if (bytes >= 64)
		{
			random = random * 6364136223846793005 + 1442695040888963407;
			at = (random >> 33) % bytes;
		}
		if (bytes < 5000 || i < 4)
			check_cut(source, bytes, at, text, *length);
	}
	return text;
}

int
main(void)
{
	uint32_t	bytes;

	while (fread(&bytes, sizeof(bytes), 1, stdin) == 1)
	{
		char	   *source = malloc(bytes + 1);
		size_t		length;
		char	   *text;
		uint32_t	written;

		if (fread(source, 1, bytes, stdin) != bytes)
			return 2;
		text = check_document(source, bytes, &length);
		written = (uint32_t) length;
		fwrite(&written, sizeof(written), 1, stdout);
		if (length > 0)
			fwrite(text, 1, length, stdout);
		free(text);
		free(source);
	}
	return 0;
}
