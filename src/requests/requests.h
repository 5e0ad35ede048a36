/*
 * requests.h
 *		What import shares with requests, and what the library's start needs.
 */
#ifndef BLOGSTORE_REQUESTS_H
#define BLOGSTORE_REQUESTS_H

#include "compat.h"
#include "state/state.h"

/*
 * The longest title or content, in bytes. An item's document has two of them, is
 * one value of less than 1 GB, and may need seven bytes for one (a control
 * character as COPY writes it: \\u0001); as jsonb it is of less than 256 MB.
 */
#define MAX_TEXT_MB 64
#define MAX_TEXT_BYTES (MAX_TEXT_MB * 1024 * 1024)

/* check.c */
extern void request_begin(OwnerScope *scope, const char *command);
extern COMPAT_NORETURN void text_too_long(const char *name);

/* stats.c: what requests have cost */
extern void stats_init(void);

#endif							/* BLOGSTORE_REQUESTS_H */
