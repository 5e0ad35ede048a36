/*
 * username.c
 *		Checking which texts can be usernames and topics.
 *
 * A name is checked character by character, in the database's encoding. If the
 * encoding has no conversion to UTF-8, only ASCII characters are checked.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/error_fields.h"
#include "base/utf8_text.h"
#include "model/names/code_points.h"
#include "model/names/names.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"

/*
 * The result of next_point() for a character that cannot be converted to
 * UTF-8. This number is not a code point of Unicode.
 */
#define UNKNOWN_POINT 0x110000

/*
 * Return false if a name of this many bytes has more characters than
 * "longest", whatever they are. If the result is true, the caller must still
 * count the characters.
 */
static bool
name_fits(int64 bytes, int longest)
{
	return bytes <= (int64) longest * pg_database_encoding_max_length();
}

/* Return the code point of the character at *at, and move *at past it. */
static pg_wchar
next_point(const char **at, const char *end)
{
	const char *character = *at;
	int			length = Min(pg_encoding_mblen(GetDatabaseEncoding(), character),
							 end - character);

	*at += length;
	if (!IS_HIGHBIT_SET(*character))
		return *character;
	return text_to_utf8(&character, &length) ?
		utf8_to_unicode((const unsigned char *) character) : UNKNOWN_POINT;
}

/*
 * Return whether a code point is a space that a username may contain, but not
 * at its ends.
 */
static bool
is_blank(pg_wchar c)
{
	return is_white_space(c) && !is_control(c) && !is_separator(c);
}

/*
 * Return a copy of a name without the spaces at both ends. Usernames are
 * stored in this form.
 */
Datum
username_trim(Datum given)
{
	text	   *name = DatumGetTextPP(given);
	const char *at = VARDATA_ANY(name);
	const char *end = at + VARSIZE_ANY_EXHDR(name);
	const char *first = end;
	const char *last = end;

	while (at < end)
	{
		const char *character = at;

		if (is_blank(next_point(&at, end)))
			continue;
		if (first == end)
			first = character;
		last = at;
	}
	return PointerGetDatum(cstring_to_text_with_len(first, last - first));
}

/*
 * Return the reason why a username must not contain this character, or NULL if
 * the character is allowed. The reason follows the word "username" in an error
 * message.
 */
static const char *
character_problem(pg_wchar c)
{
	if (is_control(c))
		return "must not contain control characters";
	if (is_separator(c))
		return "must not contain separators of lines or paragraphs";
	if (is_override(c))
		return "must not contain overrides or isolates of the direction of writing";
	if (c == UNKNOWN_POINT ? encoding_has_utf8() : !is_assigned(c))
		return "must not contain code points that are no characters of Unicode " UNICODE_OF_NAMES;
	return NULL;
}

/*
 * Return the reason why a text cannot be a name of at most "longest"
 * characters, or NULL if it can. The caller has passed the text through
 * username_trim(). The reason follows the word "username" in an error message.
 *
 * rule: receives the name of the broken rule (base/error_fields.h).
 */
const char *
name_problem(Datum text, int longest, const char **rule)
{
	struct varlena *name = PG_DETOAST_DATUM_PACKED(text);
	const char *at = VARDATA_ANY(name);
	int			bytes = VARSIZE_ANY_EXHDR(name);
	const char *end = at + bytes;
	const char *problem = NULL;

	*rule = RULE_NOT_EMPTY;
	if (bytes == 0)
		return "must not be empty";
	*rule = RULE_MAX_LENGTH;
	if (!name_fits(bytes, longest) || pg_mbstrlen_with_len(at, bytes) > longest)
		return "is too long";
	*rule = RULE_CHARACTERS;
	while (at < end && problem == NULL)
		problem = character_problem(next_point(&at, end));
	if (problem == NULL &&
		VARSIZE_ANY_EXHDR(DatumGetPointer(name_key(text))) == 0)
		return "must have a visible character";
	return problem;
}

/* Do the same as name_problem() for a username. */
const char *
username_problem(Datum username, const char **rule)
{
	return name_problem(username, MAX_USERNAME_LENGTH, rule);
}

/*
 * Return whether a text can be a username. The caller has passed the text
 * through username_trim().
 */
bool
is_username(Datum username)
{
	const char *rule;

	return username_problem(username, &rule) == NULL;
}
