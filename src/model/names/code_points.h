/*
 * code_points.h
 *		Unicode code points and their properties, for name_key.c and username.c
 *		only.
 */
#ifndef BLOGSTORE_CODE_POINTS_H
#define BLOGSTORE_CODE_POINTS_H

#include "mb/pg_wchar.h"

#define UNICODE_OF_NAMES "14.0"	/* the Unicode version whose characters a
								 * username may contain */
#define LONGEST_FOLDING 3		/* the largest number of code points that one
								 * code point is folded to */
#define BRAILLE_BLANK 0x2800	/* looks like a blank, but is not white space
								 * in Unicode */

extern bool is_assigned(pg_wchar c);
extern bool is_ignorable(pg_wchar c);
extern bool is_white_space(pg_wchar c);
extern bool is_control(pg_wchar c);
extern bool is_separator(pg_wchar c);
extern bool is_override(pg_wchar c);
extern int	fold_case(pg_wchar c, pg_wchar *to);
extern pg_wchar *code_points(const char *utf8, int length, int *n);

#endif							/* BLOGSTORE_CODE_POINTS_H */
