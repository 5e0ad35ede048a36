/*
 * html_text.c
 *		Extracting the text from HTML: what a reader sees, without tags,
 *		comments, scripts and styles, and with character references replaced.
 *
 * The tokenizer follows the HTML standard (html.spec.whatwg.org, section
 * 13.2.5). A "<" that begins no markup is text. A ">" inside quotes does not
 * end a tag. Markup that is not closed extends to the end of the source.
 * "<!DOCTYPE", "<![CDATA[" and "<?" end at the next ">". The tokenizer differs
 * from the standard in one case: it ignores "<!--" inside a script, so the
 * first "</script" ends the script.
 *
 * The tokenizer never fails and allocates no memory. Its running time is
 * linear in the length of the source, whatever the source contains.
 *
 * The tokenizer looks only for ASCII characters. In all server encodings, an
 * ASCII byte is never part of a multibyte character.
 */
#include "model/short_form/html_text.h"

#include "model/short_form/html_names.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_ELEMENT 10

#define REPLACEMENT_CHARACTER 0xFFFD

typedef enum ElementKind
{
	UNKNOWN,					/* any other element; its tags do not separate
								 * words */
	BLOCK,						/* an element whose tags separate words,
								 * because they begin a new line or box */
	SILENT						/* an element whose content a browser does not
								 * show, such as a script */
} ElementKind;

typedef struct Element
{
	char		name[LONGEST_ELEMENT + 1];
	unsigned char kind;
} Element;

/*
 * The elements that are BLOCK or SILENT, in the order of strcmp(). Section
 * 15.3 of the HTML standard says which elements are blocks.
 */
static const Element elements[] = {
	{"address", BLOCK}, {"article", BLOCK}, {"aside", BLOCK},
	{"blockquote", BLOCK}, {"body", BLOCK}, {"br", BLOCK}, {"caption", BLOCK},
	{"center", BLOCK}, {"col", BLOCK}, {"colgroup", BLOCK}, {"dd", BLOCK},
	{"details", BLOCK}, {"dialog", BLOCK}, {"dir", BLOCK}, {"div", BLOCK},
	{"dl", BLOCK}, {"dt", BLOCK}, {"fieldset", BLOCK}, {"figcaption", BLOCK},
	{"figure", BLOCK}, {"footer", BLOCK}, {"form", BLOCK}, {"frame", BLOCK},
	{"frameset", BLOCK}, {"h1", BLOCK}, {"h2", BLOCK}, {"h3", BLOCK},
	{"h4", BLOCK}, {"h5", BLOCK}, {"h6", BLOCK}, {"head", BLOCK},
	{"header", BLOCK}, {"hgroup", BLOCK}, {"hr", BLOCK}, {"html", BLOCK},
	{"iframe", SILENT}, {"legend", BLOCK}, {"li", BLOCK}, {"listing", BLOCK},
	{"main", BLOCK}, {"menu", BLOCK}, {"nav", BLOCK}, {"noembed", SILENT},
	{"noframes", SILENT}, {"noscript", SILENT}, {"ol", BLOCK},
	{"optgroup", BLOCK}, {"option", BLOCK}, {"p", BLOCK},
	{"plaintext", BLOCK}, {"pre", BLOCK}, {"script", SILENT},
	{"search", BLOCK}, {"section", BLOCK}, {"style", SILENT},
	{"summary", BLOCK}, {"table", BLOCK}, {"tbody", BLOCK}, {"td", BLOCK},
	{"textarea", SILENT}, {"tfoot", BLOCK}, {"th", BLOCK}, {"thead", BLOCK},
	{"title", SILENT}, {"tr", BLOCK}, {"ul", BLOCK}, {"xmp", BLOCK}
};

/*
 * The characters that numeric references from 0x80 to 0x9F stand for. The HTML
 * standard reads these numbers as Windows-1252.
 */
static const uint16_t windows_characters[32] = {
	0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
	0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D, 0x017D, 0x008F,
	0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
	0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178
};

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

/* Return the value of a digit, or -1 if c is no digit of this base. */
static int
digit_value(char c, int base)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (base == 16 && lower(c) >= 'a' && lower(c) <= 'f')
		return lower(c) - 'a' + 10;
	return -1;
}

static const char *
find(const HtmlText *html, const char *from, char c)
{
	return memchr(from, c, html->end - from);
}

static void
skip_declaration(HtmlText *html)
{
	const char *close = find(html, html->at, '>');

	html->at = close == NULL ? html->end : close + 1;
}

/*
 * Skip the rest of a comment: move html->at, which points after "<!--", to
 * the position after the comment, or to the end of the source.
 */
static void
skip_comment(HtmlText *html)
{
	const char *begin = html->at;
	const char *close = begin;

	while ((close = find(html, close, '>')) != NULL)
	{
		size_t		length = close - begin;

		close++;
		/* "<!-->" and "<!--->" are complete comments */
		if (length == 0 || (length == 1 && begin[0] == '-') ||
			(length >= 2 && memcmp(close - 3, "--", 2) == 0) ||
			(length >= 3 && memcmp(close - 4, "--!", 3) == 0))
			break;
	}
	html->at = close == NULL ? html->end : close;
}

/*
 * Return whether a "<" begins the end tag of the named element.
 *
 * after: the position after the "<".
 */
static bool
ends_element(const HtmlText *html, const char *after, const char *name)
{
	size_t		length = strlen(name);

	if ((size_t) (html->end - after) < length + 2 || *after++ != '/')
		return false;
	for (size_t i = 0; i < length; i++)
		if (lower(after[i]) != name[i])
			return false;
	return is_space(after[length]) || after[length] == '/' ||
		after[length] == '>';
}

/*
 * Skip the content of an element that browsers do not show, such as a script.
 * Moves html->at, which points into the content, to the element's end tag, or
 * to the end of the source.
 */
static void
skip_content(HtmlText *html, const char *name)
{
	const char *found;

	while ((found = find(html, html->at, '<')) != NULL)
	{
		html->at = found;
		if (ends_element(html, found + 1, name))
			return;
		html->at++;
	}
	html->at = html->end;
}

/*
 * Move html->at, which points after the name in a tag, to the position after
 * the tag's ">", or to the end of the source. A ">" inside quotes does not end
 * the tag.
 */
static void
skip_attributes(HtmlText *html)
{
	enum
	{
		BEFORE_NAME, IN_NAME, AFTER_NAME, BEFORE_VALUE, IN_VALUE
	}			state = BEFORE_NAME;

	while (html->at < html->end)
	{
		char		c = *html->at++;

		if (c == '>')
			return;
		if (state == BEFORE_VALUE && (c == '"' || c == '\''))
		{
			const char *close = find(html, html->at, c);

			html->at = close == NULL ? html->end : close + 1;
			state = BEFORE_NAME;
		}
		else if (is_space(c))
		{
			if (state == IN_NAME)
				state = AFTER_NAME;
			else if (state == IN_VALUE)
				state = BEFORE_NAME;
		}
		else if (state == BEFORE_VALUE || state == IN_VALUE)
			state = IN_VALUE;
		else if (c == '/')
			state = BEFORE_NAME;
		else if (c == '=' && state != BEFORE_NAME)
			state = BEFORE_VALUE;
		else
			state = IN_NAME;
	}
}

static int
compare_elements(const void *a, const void *b)
{
	return strcmp(((const Element *) a)->name, ((const Element *) b)->name);
}

/*
 * Skip a tag: move html->at, which points to the name in the tag, to the
 * position after the tag. After the start tag of a SILENT element, skip the
 * element's content too. Returns whether the tag separates words.
 *
 * is_end: whether this is an end tag.
 */
static bool
skip_tag(HtmlText *html, bool is_end)
{
	Element		key = {.kind = UNKNOWN};
	const Element *known = NULL;
	size_t		length = 0;

	while (html->at < html->end && !is_space(*html->at) && *html->at != '/' &&
		   *html->at != '>')
	{
		if (length < LONGEST_ELEMENT)
			key.name[length] = lower(*html->at);
		length++;
		html->at++;
	}
	skip_attributes(html);
	if (length <= LONGEST_ELEMENT)
		known = bsearch(&key, elements, sizeof(elements) / sizeof(Element),
						sizeof(Element), compare_elements);
	/*
	 * A name with a zero byte is unknown. bsearch() has compared only the part
	 * before the zero byte.
	 */
	if (known == NULL || strlen(known->name) != length)
		return false;
	if (known->kind == SILENT && !is_end)
		skip_content(html, known->name);
	return known->kind == BLOCK;
}

/* What a "<" in the source begins. */
typedef enum Markup
{
	MARKUP_NONE,				/* no markup; the "<" is text */
	MARKUP_UNDECIDED,			/* depends on bytes after the end of the
								 * source, which is only the beginning of a
								 * value (html->cut) */
	MARKUP_SILENT,				/* markup that adds nothing to the text */
	MARKUP_SPACE				/* a tag that separates words, as white space
								 * does */
} Markup;

/*
 * Tell what the "<" at html->at begins. If it begins markup, move html->at to
 * the position after the markup.
 */
static Markup
skip_markup(HtmlText *html)
{
	const char *after = html->at + 1;
	size_t		left = html->end - after;
	bool		space = false;

	if (left == 0 || (left == 1 && after[0] == '/'))
		return html->cut ? MARKUP_UNDECIDED : MARKUP_NONE;
	if (is_letter(after[0]) || (after[0] == '/' && is_letter(after[1])))
	{
		html->at = after + (after[0] == '/');
		space = skip_tag(html, after[0] == '/');
	}
	else if (left >= 3 && memcmp(after, "!--", 3) == 0)
	{
		html->at = after + 3;
		skip_comment(html);
	}
	else if (after[0] == '!' || after[0] == '?' || after[0] == '/')
	{
		html->at = after + 1;
		skip_declaration(html);
	}
	else
		return MARKUP_NONE;
	return space ? MARKUP_SPACE : MARKUP_SILENT;
}

typedef enum Reference
{
	REFERENCE_NONE,				/* no reference; the "&" is text */
	REFERENCE_UNDECIDED,		/* depends on bytes after the end of the
								 * source, which is only the beginning of a
								 * value (html->cut) */
	REFERENCE_READ				/* a character reference */
} Reference;

/*
 * Return the code point that the HTML standard assigns to the number of a
 * numeric character reference such as "&#8364;".
 */
static uint32_t
numbered_character(uint32_t number)
{
	if (number >= 0x80 && number <= 0x9F)
		return windows_characters[number - 0x80];
	if (number == 0 || number > 0x10FFFF ||
		(number >= 0xD800 && number <= 0xDFFF))
		return REPLACEMENT_CHARACTER;
	return number;
}

/*
 * Convert a code point to UTF-8, and store the result as the text of the
 * current token (html->text and html->bytes).
 */
static void
take_character(HtmlText *html, uint32_t c)
{
	static const unsigned char lead[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
	size_t		bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	html->text = html->character;
	html->bytes = bytes;
	for (size_t i = bytes - 1; i > 0; i--)
	{
		html->character[i] = (char) (0x80 | (c & 0x3F));
		c >>= 6;
	}
	html->character[0] = (char) (lead[bytes] | c);
}

/*
 * Read a numeric character reference. Sets html->text to the character, and
 * moves html->at to the position after the reference.
 *
 * at: the position after "&#".
 */
static Reference
read_number(HtmlText *html, const char *at)
{
	int			base = at < html->end && lower(*at) == 'x' ? 16 : 10;
	const char *first = base == 16 ? at + 1 : at;
	uint32_t	number = 0;

	at = first;
	while (at < html->end && digit_value(*at, base) >= 0)
	{
		/*
		 * A number beyond 0x10FFFF is not a character. Skip further digits, so
		 * that the number does not overflow.
		 */
		if (number <= 0x10FFFF)
			number = number * base + digit_value(*at, base);
		at++;
	}
	if (at == html->end && html->cut)
		return REFERENCE_UNDECIDED;
	if (at == first)
		return REFERENCE_NONE;
	html->at = at < html->end && *at == ';' ? at + 1 : at;
	take_character(html, numbered_character(number));
	return REFERENCE_READ;
}

/*
 * Find the name of a character reference in html_names. Returns a pointer to
 * the characters that the name stands for. A line feed ends these characters.
 * Returns NULL if there is no such name.
 *
 * has_semicolon: whether a semicolon follows the name in the source. Only some
 *		names are valid without a semicolon.
 */
static const char *
find_name(const char *name, size_t length, bool has_semicolon)
{
	const char *low = html_names;
	const char *high = html_names + sizeof(html_names) - 1;

	while (low < high)
	{
		const char *middle = low + (high - low) / 2;
		int			order;

		while (middle > low && middle[-1] != '\n')
			middle--;
		order = strncmp(name, middle, length);
		if (order == 0 && (middle[length] == ' ' || middle[length] == ','))
			return has_semicolon || middle[length] == ',' ?
				middle + length + 1 : NULL;
		if (order <= 0)
			high = middle;
		else
			low = strchr(middle, '\n') + 1;
	}
	return NULL;
}

/*
 * Read a named character reference. Sets html->text to the characters that the
 * reference stands for, and moves html->at to the position after the
 * reference. If several names match, the function takes the longest.
 *
 * name: the position after the "&".
 */
static Reference
read_name(HtmlText *html, const char *name)
{
	const char *at = name;
	const char *found = NULL;

	while (at < html->end && at - name < LONGEST_NAME &&
		   (is_letter(*at) || digit_value(*at, 10) >= 0))
		at++;
	if (at == html->end && html->cut)
		return REFERENCE_UNDECIDED;
	if (at > name && at < html->end && *at == ';')
		found = find_name(name, at - name, true);
	if (found != NULL)
		html->at = at + 1;
	else
	{
		if (at - name > LONGEST_SHORT_NAME)
			at = name + LONGEST_SHORT_NAME;
		while (found == NULL && at > name)
		{
			found = find_name(name, at - name, false);
			html->at = found != NULL ? at : html->at;
			at--;
		}
	}
	if (found == NULL)
		return REFERENCE_NONE;
	html->text = found;
	html->bytes = strchr(found, '\n') - found;
	return REFERENCE_READ;
}

static Reference
read_reference(HtmlText *html)
{
	const char *after = html->at + 1;

	if (after < html->end && *after == '#')
		return read_number(html, after + 1);
	return read_name(html, after);
}

/*
 * Return whether html->text, set by read_reference(), is one white-space
 * character. The no-break space counts as white space.
 */
static bool
refers_to_space(const HtmlText *html)
{
	const unsigned char *text = (const unsigned char *) html->text;

	return html->bytes == 1 ? html_is_blank(html->text[0]) :
		html->bytes == 2 && text[0] == 0xC2 && text[1] <= 0xA0;
}

/*
 * Return the position of the next c after html->at, or the end of the source
 * if there is none.
 *
 * known: the previous result for the same c; NULL before the first call. If
 *		this position is still after html->at, the function returns it without
 *		a search.
 */
static const char *
next_such(const HtmlText *html, const char **known, char c)
{
	if (*known == NULL || *known <= html->at)
	{
		*known = find(html, html->at + 1, c);
		if (*known == NULL)
			*known = html->end;
	}
	return *known;
}

/*
 * Read text up to the next "<" or "&" after html->at. If html->at itself is at
 * a "<" or "&", this character is text.
 */
static HtmlToken
read_text(HtmlText *html)
{
	const char *open = next_such(html, &html->next_open, '<');
	const char *ampersand = next_such(html, &html->next_ampersand, '&');

	html->text = html->at;
	html->at = open < ampersand ? open : ampersand;
	html->bytes = html->at - html->text;
	return HTML_TEXT;
}

/*
 * Return the next token of the source. If the source is only the beginning of
 * a longer value (html->cut), stop before a byte whose meaning depends on
 * later bytes. The tokens are therefore the same as the first tokens of the
 * whole value.
 */
HtmlToken
html_text_next(HtmlText *html)
{
	while (html->at < html->end)
	{
		Markup		markup = MARKUP_NONE;
		Reference	reference = REFERENCE_NONE;

		if (*html->at == '<')
			markup = skip_markup(html);
		else if (*html->at == '&')
			reference = read_reference(html);
		if (markup == MARKUP_UNDECIDED || reference == REFERENCE_UNDECIDED)
			return HTML_END;
		if (markup == MARKUP_SILENT)
			continue;
		if (markup == MARKUP_SPACE)
			return HTML_SPACE;
		if (reference == REFERENCE_READ)
			return refers_to_space(html) ? HTML_SPACE : HTML_REFERENCE;
		return read_text(html);
	}
	return HTML_END;
}
