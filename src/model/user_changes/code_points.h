/*
 * code_points.h
 *		Unicode code points, for name_key.c and username.c only.
 *
 * Their properties come from unicode_table.h.
 */
#ifndef BLOGSTORE_CODE_POINTS_H
#define BLOGSTORE_CODE_POINTS_H

#include "mb/pg_wchar.h"

#define UNICODE_OF_NAMES "14.0"	/* the last version of Unicode whose characters
								 * the table has */
#define LONGEST_FOLDING 3		/* in code points */
#define BRAILLE_BLANK 0x2800	/* not White_Space, but looks like it */

extern bool is_assigned(pg_wchar c);
extern bool is_ignorable(pg_wchar c);
extern bool is_white_space(pg_wchar c);
extern bool is_control(pg_wchar c);
extern bool is_separator(pg_wchar c);
extern bool is_override(pg_wchar c);
extern int	fold_case(pg_wchar c, pg_wchar *to);
extern pg_wchar *code_points(const char *utf8, int length, int *n);

#endif							/* BLOGSTORE_CODE_POINTS_H */
