/*
 * names.h
 *		Usernames and topics: which texts are allowed, and the key by which
 *		they are compared.
 */
#ifndef BLOGSTORE_NAMES_H
#define BLOGSTORE_NAMES_H

#include "base/compat.h"

/* username.c: checking which texts can be usernames */
#define MAX_USERNAME_LENGTH 64	/* in characters */

extern Datum username_trim(Datum given);
extern const char *username_problem(Datum username, const char **rule);
extern const char *name_problem(Datum name, int longest, const char **rule);
extern bool is_username(Datum username);

/*
 * name_key.c: the key of a username or topic. Two usernames with equal keys
 * are the same name.
 */
#define MAX_FOLDED_BYTES 4096	/* in bytes; a longer text has no key */

extern bool has_name_key(Datum text);
extern Datum name_key(Datum text);
extern bool name_key_fits(Datum key);

#endif							/* BLOGSTORE_NAMES_H */
